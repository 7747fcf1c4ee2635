import type { CommandSpec } from "./command.js";

/** A command before its file is loaded: enough for `leasehold --help`. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

/** Every command, in the order of the help. Nothing of the library is loaded before one of them runs. */
export const commands: readonly Entry[] = Object.freeze([
  ...grouped("Start:", [
    ["dev", "a PostgreSQL of its own, and your worker under watch", () => import("./commands/dev.js")],
    ["migrate", "create the schema or bring it up to date", () => import("./commands/migrate.js")],
    ["worker", "run the worker of a file", () => import("./commands/worker.js")],
    ["enqueue", "add a job", () => import("./commands/enqueue.js")],
  ]),
  ...grouped("Look:", [
    ["status", "all queues at a glance, problems first", () => import("./commands/status.js")],
    ["doctor", "name what is wrong, the cause first", () => import("./commands/doctor.js")],
    ["ring", "who owns a key or a bucket, and what would move", () => import("./commands/ring.js")],
    ["tenants", "which worker runs which tenant", () => import("./commands/tenants.js")],
    ["history", "what happened to workers and queues, and by whom", () => import("./commands/history.js")],
    ["runbook", "run a support query, or show its SQL", () => import("./commands/runbook.js")],
    ["audit", "ask the rows whether the promises hold", () => import("./commands/audit.js")],
  ]),
  ...grouped("Look and act:", [
    ["queues", "list, create, change, pause, resume, drop", () => import("./commands/queues.js")],
    ["jobs", "list, get, why, redrive, discard", () => import("./commands/jobs.js")],
    ["dead", "dead letters by kind and error; redrive, discard", () => import("./commands/dead.js")],
    ["workers", "list, drain, evict", () => import("./commands/workers.js")],
  ]),
  ...grouped("Set up:", [
    ["tune", "settings for a workload, with reasons", () => import("./commands/tune.js")],
    ["simulate", "test the promises with seeds, on virtual time", () => import("./commands/simulate.js")],
    ["grant", "create the roles with least privileges", () => import("./commands/grant.js")],
    ["drill", "practice on a real incident: find it and fix it", () => import("./commands/drill.js")],
    ["completion", "a completion script for your shell", () => import("./commands/completion.js")],
  ]),
]);

type Row = readonly [name: string, summary: string, load: Entry["load"]];

function grouped(group: string, rows: readonly Row[]): readonly Entry[] {
  return rows.map(([name, summary, load]) => Object.freeze({ name, summary, group, load }));
}
