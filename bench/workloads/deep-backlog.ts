import { faultsOf } from "../faults.js";
import { until } from "../wait.js";
import { fillBacklog, keysFor } from "./backlog.js";
import { perSecond, type Workload } from "./workload.js";

const limitMs = 120_000;

export const deepBacklog: Workload = {
  id: "B6",
  title: "Drain from a backlog of 1 000 000",
  about:
    "One process. Measured over the first 200 000 jobs, by the starts of their handlers; then it is stopped.",
  figures: [perSecond],
  expectedSeconds: 45,
  run: async (cell) => {
    const backlog = await fillBacklog(cell, cell.scaled(1_000_000), keysFor(cell));
    const wanted = cell.scaled(200_000);
    const worker = await cell.spawn(backlog.store);
    await worker.ask("work", { keys: backlog.keys });
    const isDone = await until(() => worker.handled >= wanted, { limitMs });
    const log = await worker.ask("workLog", null);
    const last = Math.min(wanted, log.numbers.length) - 1;
    const ms = (log.startedMs[last] ?? 0) - (log.startedMs[0] ?? 0);
    return {
      figures: { perSecond: (last / ms) * 1_000 },
      faults: faultsOf([log], backlog.keys, null),
      ...(isDone ? {} : { note: `only ${last + 1} jobs in ${limitMs / 1_000} s` }),
    };
  },
};
