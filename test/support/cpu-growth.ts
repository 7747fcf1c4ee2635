/**
 * How many times as much of the processor the larger of two takes, each at its best of several runs. For bounds on how cost grows: the
 * two are measured in the same run, so that a slow machine is slow for both.
 */
export function cpuGrowth(smaller: () => unknown, larger: () => unknown): number {
  smaller();
  larger();
  return best(larger) / Math.max(leastMs, best(smaller));
}

const tries = 5;
/** What is shorter can't be measured. */
const leastMs = 0.2;

function best(run: () => unknown): number {
  return Math.min(...Array.from({ length: tries }, () => cpuMs(run)));
}

function cpuMs(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
