import { bullmqEverySecond, bullmqEveryWrite } from "./bullmq.js";
import { graphileWorker } from "./graphile-worker.js";
import { leasehold, leaseholdArchive } from "./leasehold.js";
import { pgBoss } from "./pg-boss.js";
import type { SystemKind } from "./system.js";

/** In the order of the columns of the results. */
export const everySystem: readonly SystemKind[] = Object.freeze([
  leasehold,
  leaseholdArchive,
  graphileWorker,
  pgBoss,
  bullmqEverySecond,
  bullmqEveryWrite,
]);

export function systemNamed(id: string): SystemKind {
  const found = everySystem.find((system) => system.id === id);
  if (found === undefined) throw new Error(`There is no system ${id}.`);
  return found;
}
