import { faultsOf, type WorkLog } from "../faults.js";
import { type Keys, keyOf } from "../job.js";
import { drain, fillBacklog, keyCount } from "./backlog.js";
import type { Workload } from "./workload.js";

const limitMs = 30_000;
const keys: Keys = { are: "hot", count: keyCount + 1 };

export const hotKey: Workload = {
  id: "B9",
  title: "Half of all jobs on one key",
  about:
    "Every second one of 100 000 jobs is on one key, the others are spread over 1 000 keys; in order, one process. Broken off after 30 s.",
  figures: [
    { key: "others", label: "the other keys", unit: "jobs/s", better: "more" },
    { key: "all", label: "all keys meanwhile", unit: "jobs/s", better: "more", isInSummary: true },
    { key: "hotMeanwhile", label: "the hot key meanwhile", unit: "jobs/s", better: "more" },
    {
      key: "hot",
      label: "the hot key over the whole run",
      unit: "jobs/s",
      better: "more",
      isInSummary: true,
    },
  ],
  expectedSeconds: 36,
  run: async (cell) => {
    const backlog = await fillBacklog(cell, cell.scaled(100_000), keys);
    const { logs, handled, isFinished } = await drain(cell, backlog, { processes: 1, limitMs });
    const [log] = logs;
    if (log === undefined) throw new Error("There is no log.");
    return {
      figures: figuresOf(log, backlog.count / 2),
      faults: faultsOf(logs, keys, isFinished ? backlog.count : null),
      ...(isFinished ? {} : { note: `broken off after 30 s with ${handled} of ${backlog.count} jobs done` }),
    };
  },
};

/** Times are those of the starts of handlers, from the first on. */
function figuresOf({ numbers, startedMs }: WorkLog, othersExpected: number): Record<string, number> {
  const zero = startedMs[0] ?? 0;
  const at = (i: number): number => (startedMs[i] ?? 0) - zero;
  const isHot = (i: number): boolean => keyOf(numbers[i] ?? 0, keys) === 0;
  const all = Array.from(numbers.keys());
  const others = all.filter((i) => !isHot(i));
  const hot = all.filter(isHot);
  const wholeMs = Math.max(1, at(numbers.length - 1));
  const othersMs = others.length < othersExpected ? wholeMs : Math.max(1, at(others.at(-1) ?? 0));
  const meanwhile = (list: readonly number[]): number => list.filter((i) => at(i) <= othersMs).length;
  return {
    others: (others.length / othersMs) * 1_000,
    all: (meanwhile(all) / othersMs) * 1_000,
    hotMeanwhile: (meanwhile(hot) / othersMs) * 1_000,
    hot: (hot.length / Math.max(1, at(hot.at(-1) ?? 0))) * 1_000,
  };
}
