import { nowMs } from "../clock.js";
import { type Keys, keyOf } from "../job.js";
import type { Handle } from "../systems/system.js";
import type { Acts } from "./act.js";
import { cpuMs } from "./cpu.js";

const reportMs = 5;

/** What this process has handled. It has one worker at most, so there is one. */
const log = {
  numbers: new Int32Array(1 << 17),
  startedMs: new Float64Array(1 << 17),
  count: 0,
  overlapping: 0,
};
let cpuStartMs = 0;

export const work: Acts["work"] = async (context, { keys }) => {
  let reported = 0;
  setInterval(() => {
    if (log.count === reported) return;
    reported = log.count;
    context.report(reported);
  }, reportMs);
  cpuStartMs = cpuMs();
  await context.system.startWorker(handlerOf(keys));
  return null;
};

export const workLog: Acts["workLog"] = async () => ({
  numbers: log.numbers.slice(0, log.count),
  startedMs: log.startedMs.slice(0, log.count),
  overlapping: log.overlapping,
  cpuMs: cpuMs() - cpuStartMs,
});

/** Does nothing but count. With keys it also gives way once, so that a second job of its key could start meanwhile. */
function handlerOf(keys: Keys): Handle {
  if (keys.are === "none") return note;
  const running = new Set<number>();
  return async (n) => {
    note(n);
    const key = keyOf(n, keys) ?? 0;
    if (running.has(key)) log.overlapping++;
    running.add(key);
    await Promise.resolve();
    running.delete(key);
  };
}

function note(n: number): void {
  if (log.count === log.numbers.length) grow();
  log.numbers[log.count] = n;
  log.startedMs[log.count] = nowMs();
  log.count++;
}

function grow(): void {
  const [numbers, startedMs] = [log.numbers, log.startedMs];
  log.numbers = new Int32Array(numbers.length * 2);
  log.startedMs = new Float64Array(startedMs.length * 2);
  log.numbers.set(numbers);
  log.startedMs.set(startedMs);
}
