import { noFaults } from "../faults.js";
import { keysFor } from "./backlog.js";
import { perSecond, type Workload } from "./workload.js";

const before = 1_000;

export const enqueueOne: Workload = {
  id: "B1",
  title: "Enqueue one by one",
  about:
    "16 concurrent callers in one process, each awaits its call; 1 s of warm-up, then 3 s are counted; two turns a round. The table holds 1 000 jobs and has been analyzed.",
  figures: [perSecond],
  turns: 2,
  expectedSeconds: 7,
  run: async (cell) => {
    const keys = keysFor(cell);
    const store = await cell.openStore();
    const producer = await cell.spawn(store);
    await producer.ask("setup", null);
    await producer.ask("fill", { count: before, keys, inFlight: 1 });
    await store.settle();
    const { measured, total, ms } = await producer.ask("enqueueFor", {
      callers: 16,
      warmUpMs: cell.scaled(1_000),
      measureMs: cell.scaled(3_000),
      keys,
    });
    const stored = await producer.ask("countUnfinished", null);
    return {
      figures: { perSecond: (measured / ms) * 1_000 },
      faults: { ...noFaults, missing: before + total - stored },
    };
  },
};
