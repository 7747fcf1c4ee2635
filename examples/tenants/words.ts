import { count, duration } from "../demo/numbers.js";
import { bar } from "../demo/paint.js";
import type { Step } from "./show.js";
import type { Spread } from "./spread.js";

/** What is printed. */

export function stepLine({ step, worker, moved, tookMs, pausedMs, workers, spread }: Step): string {
  const took = duration(tookMs);
  const pause = `none stood still for more than ${duration(pausedMs)}`;
  const words = {
    start: `${workers} workers started: all ${count(moved)} tenants run, evenly, after ${took}`,
    add: `${worker} was added: ${count(moved)} tenants moved, the last after ${took}; ${pause}`,
    stop: `${worker} was stopped: its ${count(moved)} tenants run elsewhere after ${took}; ${pause}`,
    kill: `${worker} was killed (SIGKILL): its ${count(moved)} tenants run elsewhere after ${took}`,
    evict: `${worker} was evicted (DELETE): its ${count(moved)} tenants run elsewhere after ${took}; ${pause}`,
    return: `${worker} came back by itself: ${count(moved)} tenants moved, the last after ${took} more; ${pause}`,
  };
  return `${words[step]}. ${spreadWords(spread)}`;
}

function spreadWords({ fewest, most, deviation }: Spread): string {
  return `Each worker has ${count(fewest)} to ${count(most)}, within ${(100 * deviation).toFixed(1)} % of even.`;
}

export function lineOf({ tenants, perWorker }: Spread): string {
  return `  ${count(tenants).padStart(6)} run: ${Object.values(perWorker).join("/")}`;
}

const barWidth = 40;

/** A line for each worker, for a terminal. */
export function tableOf({ tenants, perWorker, most }: Spread): readonly string[] {
  const rows = Object.entries(perWorker).map(
    ([id, has]) => `  ${id.padEnd(10)} ${count(has).padStart(6)}  ${bar(has / Math.max(1, most), barWidth)}`,
  );
  return [...rows, `  ${"all".padEnd(10)} ${count(tenants).padStart(6)}`];
}
