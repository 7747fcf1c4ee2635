import { noFaults } from "../faults.js";
import { percentile } from "../percentile.js";
import { keysFor } from "./backlog.js";
import type { Workload } from "./workload.js";

const warmUp = 50;

export const latency: Workload = {
  id: "B5",
  title: "Latency when idle",
  about:
    "From the enqueue call to the start of the handler, producer and worker in one process, a job each 20 ms; 500 samples after 50 of warm-up.",
  figures: [
    { key: "p50", label: "median", unit: "ms", better: "less", digits: 2 },
    { key: "p99", label: "99th percentile", unit: "ms", better: "less", digits: 2, isInSummary: true },
  ],
  expectedSeconds: 16,
  run: async (cell) => {
    const store = await cell.openStore();
    const child = await cell.spawn(store);
    await child.ask("setup", null);
    await store.settle();
    const count = warmUp + cell.scaled(500);
    const { tookMs, repeated } = await child.ask("latency", { keys: keysFor(cell), count, everyMs: 20 });
    const samples = tookMs.slice(warmUp).filter((ms) => !Number.isNaN(ms));
    const missing = tookMs.filter((ms) => Number.isNaN(ms)).length;
    return {
      figures: { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) },
      faults: { ...noFaults, missing, repeated },
    };
  },
};
