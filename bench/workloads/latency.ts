import { noFaults } from "../faults.js";
import { percentile } from "../percentile.js";
import { keysFor } from "./backlog.js";
import type { Workload } from "./workload.js";

const warmUp = 250;

export const latency: Workload = {
  id: "B5",
  title: "Latency when idle",
  about:
    "From the enqueue call to the start of the handler, producer and worker in one process, a job each 20 ms; 200 samples after 250 of warm-up, three turns a round. The median of the turns' percentiles.",
  figures: [
    { key: "p50", label: "median", unit: "ms", better: "less", digits: 2 },
    { key: "p99", label: "99th percentile", unit: "ms", better: "less", digits: 2, isInSummary: true },
  ],
  turns: 3,
  expectedSeconds: 13,
  run: async (cell) => {
    const store = await cell.openStore();
    const child = await cell.spawn(store);
    await child.ask("setup", null);
    await store.settle();
    const count = warmUp + cell.scaled(200);
    const { tookMs, repeated } = await child.ask("latency", { keys: keysFor(cell), count, everyMs: 20 });
    const samples = tookMs.slice(warmUp).filter((ms) => !Number.isNaN(ms));
    const missing = tookMs.filter((ms) => Number.isNaN(ms)).length;
    return {
      figures: { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) },
      faults: { ...noFaults, missing, repeated },
    };
  },
};
