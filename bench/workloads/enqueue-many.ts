import type { Cell } from "../cell.js";
import { noFaults } from "../faults.js";
import { keysFor } from "./backlog.js";
import { perSecond, type Workload } from "./workload.js";

export const enqueueMany: Workload = {
  id: "B2",
  title: "Bulk enqueue",
  about:
    "100 000 jobs from one process, 1 000 a call, once with one call in flight and once with two, each on a fresh store; the better counts. Two turns a round.",
  figures: [
    perSecond,
    { key: "one", label: "one call in flight", unit: "jobs/s", better: "more" },
    { key: "two", label: "two calls in flight", unit: "jobs/s", better: "more" },
  ],
  turns: 2,
  expectedSeconds: 9,
  run: async (cell) => {
    const count = cell.scaled(100_000);
    const one = await fillOnce(cell, count, 1);
    const two = await fillOnce(cell, count, 2);
    return {
      figures: { perSecond: Math.max(one.perSecond, two.perSecond), one: one.perSecond, two: two.perSecond },
      faults: { ...noFaults, missing: 2 * count - one.stored - two.stored },
    };
  },
};

async function fillOnce(
  cell: Cell,
  count: number,
  inFlight: number,
): Promise<{ readonly perSecond: number; readonly stored: number }> {
  const store = await cell.openStore();
  const producer = await cell.spawn(store);
  await producer.ask("setup", null);
  await store.settle();
  const { ms } = await producer.ask("fill", { count, keys: keysFor(cell), inFlight });
  return { perSecond: (count / ms) * 1_000, stored: await producer.ask("countUnfinished", null) };
}
