import { crashedWorker } from "./crashed-worker.js";
import { deafListener } from "./deaf-listener.js";
import type { Drill } from "./drill.js";
import { greyWorker } from "./grey-worker.js";
import { heldSnapshot } from "./held-snapshot.js";
import { hotKey } from "./hot-key.js";
import { poisonJob } from "./poison-job.js";
import { slowHandlers } from "./slow-handlers.js";

/** Every drill, the most common incidents first. */
export const allDrills: readonly Drill[] = Object.freeze([
  crashedWorker,
  slowHandlers,
  hotKey,
  poisonJob,
  heldSnapshot,
  deafListener,
  greyWorker,
]);
