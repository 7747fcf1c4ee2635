import type { Cell } from "../cell.js";
import { noFaults } from "../faults.js";
import type { Keys } from "../job.js";
import { delay, until } from "../wait.js";
import { keyCount } from "./backlog.js";
import type { Workload } from "./workload.js";

const workers = 8;
const settleMs = 1_500;
const busyLimitMs = 10_000;
const spread: Keys = { are: "spread", count: keyCount };
const one: Keys = { are: "one" };

export const wakeUps: Workload = {
  id: "B11",
  title: "Cost of wake-ups",
  about:
    "Enqueue one by one as in B1 for 2 s: with no worker and with 8 idle ones that wish to be woken, for jobs that are due in 4 s; and on one hot key, with no worker and with 8 of which one is busy with that key. Three turns a round; the median of the turns' ratios.",
  figures: [
    { key: "share", label: "idle workers over no worker", unit: "", better: "more", digits: 2 },
    {
      key: "hotShare",
      label: "busy hot key over no worker",
      unit: "",
      better: "more",
      digits: 2,
      isInSummary: true,
    },
    { key: "alone", label: "no worker", unit: "jobs/s", better: "more" },
    { key: "idle", label: "8 idle workers", unit: "jobs/s", better: "more" },
    { key: "hotAlone", label: "hot key, no worker", unit: "jobs/s", better: "more" },
    { key: "hotBusy", label: "hot key, one of 8 busy with it", unit: "jobs/s", better: "more" },
  ],
  turns: 3,
  expectedSeconds: 22,
  run: async (cell) => {
    const alone = await measure(cell, { keys: spread, delayMs: 4_000, hasWorkers: false });
    const idle = await measure(cell, { keys: spread, delayMs: 4_000, hasWorkers: true });
    const hotAlone = await measure(cell, { keys: one, hasWorkers: false });
    const hotBusy = await measure(cell, { keys: one, hasWorkers: true });
    return {
      figures: { share: idle / alone, hotShare: hotBusy / hotAlone, alone, idle, hotAlone, hotBusy },
      faults: noFaults,
    };
  },
};

interface Case {
  readonly keys: Keys;
  readonly delayMs?: number;
  readonly hasWorkers: boolean;
}

async function measure(cell: Cell, { hasWorkers, ...jobs }: Case): Promise<number> {
  const store = await cell.openStore();
  const producer = await cell.spawn(store);
  await producer.ask("setup", null);
  await store.settle();
  if (hasWorkers) {
    const crowd = await cell.spawn(store);
    await crowd.ask("crowd", { workers });
    if (jobs.keys.are === "one") {
      await producer.ask("fill", { count: 1, keys: jobs.keys, inFlight: 1 });
      if (!(await until(() => crowd.handled > 0, { limitMs: busyLimitMs })))
        throw new Error("No worker took the hot key.");
    }
    // Now they have looked in vain and wish to be woken.
    await delay(settleMs);
  }
  const { measured, ms } = await producer.ask("enqueueFor", {
    callers: 16,
    warmUpMs: cell.scaled(500),
    measureMs: cell.scaled(2_000),
    ...jobs,
  });
  return (measured / ms) * 1_000;
}
