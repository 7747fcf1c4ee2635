import type { Snapshot } from "./figures.js";
import type { Entry } from "./journal.js";
import { count, duration } from "./numbers.js";

/** The figures as plain lines, for logs and pipes. */

export function figuresLine(snapshot: Snapshot): string {
  const { elapsedMs, workers, queue, jobsPerSecond, lagMs, retries, promises } = snapshot;
  const working = workers.filter(({ member }) => member.state === "working");
  const buckets = workers.map((worker) => worker.buckets).filter((owned) => owned > 0);
  return [
    `${Math.round(elapsedMs / 1_000)} s`.padStart(6),
    `${jobsPerSecond.toFixed(1)} jobs/s`.padStart(12),
    `lag ${duration(lagMs)}`,
    `workers ${working.length}`,
    `buckets ${buckets.join("/") || 0}`,
    `pending ${queue.pending}`,
    `processing ${queue.processing}`,
    `scheduled ${queue.scheduled}`,
    `done ${promises.checked}`,
    `retries ${retries}`,
    `dead letters ${queue.deadLetter}`,
    `order breaks ${promises.orderBreaks}`,
    `doubled ${promises.doubled}`,
    `lost ${promises.lost}`,
  ].join("  ");
}

/** More of the same is told at the 10th, the 100th, and so on. */
export function isWorthALine({ times }: Entry): boolean {
  return Number.isInteger(Math.log10(times));
}

export function eventLine({ words, times }: Entry): string {
  return `        - ${words}${times > 1 ? ` (and ${times - 1} before)` : ""}`;
}

export function summary({ elapsedMs, queue, retries, takenOver, promises }: Snapshot): readonly string[] {
  const waiting = queue.pending + queue.scheduled + queue.processing;
  return [
    `Stopped after ${duration(elapsedMs)}; all workers have drained.`,
    `  ${count(promises.checked)} jobs done, ${count(retries)} retries, ${count(takenOver)} taken over from lost workers, ${count(queue.deadLetter)} dead letters.`,
    `  Order breaks: ${promises.orderBreaks}. Doubled receipts: ${promises.doubled}. Lost jobs: ${promises.lost}.`,
    `  ${count(waiting)} jobs wait in the database for the next start.`,
  ];
}

export function isBroken({ promises: { orderBreaks, doubled, lost } }: Snapshot): boolean {
  return orderBreaks + doubled + lost > 0;
}
