import { nowMs } from "../clock.js";
import { type BenchJob, benchJob, type Keys } from "../job.js";
import { delay } from "../wait.js";
import type { Acts } from "./act.js";
import { cpuMs } from "./cpu.js";

const batchRows = 1_000;
const holdMs = 2;

export const fill: Acts["fill"] = async ({ system }, { count, keys, inFlight }) => {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      const first = next;
      next = Math.min(count, first + batchRows);
      await system.enqueueMany(jobsFrom(first, next, keys));
    }
  };
  const start = { ms: nowMs(), cpuMs: cpuMs() };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return { ms: nowMs() - start.ms, cpuMs: cpuMs() - start.cpuMs };
};

export const produce: Acts["produce"] = async ({ system, heard }, input) => {
  const endMs = nowMs() + input.forMs;
  let next = input.first;
  const caller = async (): Promise<void> => {
    while (nowMs() < endMs) {
      if (next - heard.handled >= input.backlogMax) {
        await delay(holdMs);
        continue;
      }
      const first = next;
      next += batchRows;
      await system.enqueueMany(jobsFrom(first, next, input.keys));
    }
  };
  await Promise.all(Array.from({ length: input.inFlight }, caller));
  return next;
};

function jobsFrom(first: number, end: number, keys: Keys): readonly BenchJob[] {
  return Array.from({ length: end - first }, (_, i) => benchJob(first + i, keys));
}
