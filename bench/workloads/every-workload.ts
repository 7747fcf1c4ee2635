import { claim } from "./claim.js";
import { cost } from "./cost.js";
import { deepBacklog } from "./deep-backlog.js";
import { drainAlone, drainInOrder, drainInTwo } from "./drain.js";
import { enqueueMany } from "./enqueue-many.js";
import { enqueueOne } from "./enqueue-one.js";
import { heldSnapshot } from "./held-snapshot.js";
import { hotKey } from "./hot-key.js";
import { latency } from "./latency.js";
import { wakeUps } from "./wake-ups.js";
import type { Workload } from "./workload.js";

/** In the order in which they run. */
export const everyWorkload: readonly Workload[] = Object.freeze([
  enqueueOne,
  enqueueMany,
  drainAlone,
  drainInTwo,
  latency,
  deepBacklog,
  heldSnapshot,
  drainInOrder,
  hotKey,
  claim,
  wakeUps,
  cost,
]);
