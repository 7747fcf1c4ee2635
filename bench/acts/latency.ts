import { nowMs } from "../clock.js";
import { benchJob } from "../job.js";
import { delay, until } from "../wait.js";
import type { Acts } from "./act.js";

const settleMs = 1_000;
const lastLimitMs = 10_000;

export const latency: Acts["latency"] = async ({ system }, { keys, count, everyMs }) => {
  const calledMs = new Float64Array(count);
  const tookMs = new Float64Array(count).fill(Number.NaN);
  let handled = 0;
  let repeated = 0;
  await system.startWorker((n) => {
    if (!Number.isNaN(tookMs[n])) repeated++;
    tookMs[n] = nowMs() - (calledMs[n] ?? 0);
    handled++;
  });
  await delay(settleMs);
  const firstMs = nowMs();
  const calls: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    await delay(Math.max(0, firstMs + n * everyMs - nowMs()));
    calledMs[n] = nowMs();
    calls.push(system.enqueueOne(benchJob(n, keys)));
  }
  await Promise.all(calls);
  await until(() => handled >= count, { limitMs: lastLimitMs });
  return { tookMs, repeated };
};
