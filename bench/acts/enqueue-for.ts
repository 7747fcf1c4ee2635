import { nowMs } from "../clock.js";
import { benchJob } from "../job.js";
import type { Acts } from "./act.js";

export const enqueueFor: Acts["enqueueFor"] = async ({ system }, input) => {
  const startMs = nowMs() + input.warmUpMs;
  const endMs = startMs + input.measureMs;
  let next = 0;
  let total = 0;
  let measured = 0;
  const later = input.delayMs === undefined ? {} : { delayMs: input.delayMs };
  const caller = async (): Promise<void> => {
    for (let ms = nowMs(); ms < endMs; ) {
      await system.enqueueOne({ ...benchJob(next++, input.keys), ...later });
      total++;
      ms = nowMs();
      if (ms >= startMs && ms < endMs) measured++;
    }
  };
  await Promise.all(Array.from({ length: input.callers }, caller));
  return { measured, total, ms: input.measureMs };
};
