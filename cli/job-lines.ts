import type { JobRecord } from "../src/index.js";
import { age, ago, count } from "./figures.js";
import { type Column, pairs } from "./table.js";
import { plain, wrap } from "./text-width.js";
import type { Screen } from "./view.js";

/** Without the status when all have the one that was asked for. */
export function jobColumns({ now, paint }: Screen, hasStatus: boolean): readonly Column<JobRecord>[] {
  return [
    { title: "ID", value: ({ id }) => id },
    { title: "KIND", value: ({ kind }) => kind, least: 8 },
    { title: "KEY", value: ({ partitionKey, id }) => (partitionKey === id ? "-" : partitionKey), least: 10 },
    {
      title: "STATUS",
      value: ({ status }) => (hasStatus ? "" : status),
      isOptional: true,
      tint: ({ status }, cell) => (status === "dead_letter" ? paint.bad(cell) : cell),
    },
    { title: "AGE", value: ({ createdAt }) => age(createdAt, now), align: "right" },
    { title: "TRIES", value: ({ attempts }) => count(attempts), align: "right", isExpendable: true },
    { title: "WORKER", value: (job) => holder(job), least: 10, isOptional: true, isExpendable: true },
    {
      title: "LAST ERROR",
      value: ({ lastError }) => lastError ?? "",
      least: 16,
      isOptional: true,
      isExpendable: true,
    },
  ];
}

function holder({ status, claimedBy }: JobRecord): string {
  return status === "processing" ? (claimedBy ?? "") : "";
}

/** Everything that is known of a job. */
export function jobLines(screen: Screen, job: JobRecord): readonly string[] {
  const at = (time: Date | null): string =>
    time === null ? "-" : `${time.toISOString()} (${ago(time, screen.now)})`;
  const facts: (readonly [string, string])[] = [
    ["id", job.id],
    ["kind", job.kind],
    ["status", job.status],
    ["key", `${job.partitionKey === job.id ? "-" : job.partitionKey} (bucket ${job.bucket})`],
    ["created", at(job.createdAt)],
    ["due", at(job.availableAt)],
    ["attempts", `${job.attempts - job.crashes} of ${job.maxAttempts}, and ${job.crashes} crashes`],
    ...(job.claimedBy === null ? [] : [["worker", `${job.claimedBy}, token ${job.fenceToken}`] as const]),
    ...(job.leaseExpiresAt === null ? [] : [["lease ends", at(job.leaseExpiresAt)] as const]),
    ...(job.idempotencyKey === null ? [] : [["idempotency key", job.idempotencyKey] as const]),
    ...(job.finishedAt === null ? [] : [["finished", at(job.finishedAt)] as const]),
  ];
  const headers = Object.keys(job.headers).length === 0 ? [] : ["", "headers", ...indented(job.headers)];
  const errors = job.errors.map(({ at: time, attempt, worker, message }) => {
    const head = `  ${ago(new Date(time), screen.now)}, attempt ${attempt} on ${plain(worker ?? "an unknown worker")}`;
    return [head, ...wrap(message, screen.width, "    ")];
  });
  return [
    ...pairs(screen, facts),
    ...headers,
    "",
    "payload",
    ...indented(job.payload),
    ...(errors.length === 0 ? [] : ["", "errors, newest first", ...errors.reverse().flat()]),
  ];
}

function indented(value: unknown): readonly string[] {
  return (JSON.stringify(value, null, 2) ?? "null").split("\n").map((line) => `  ${plain(line)}`);
}
