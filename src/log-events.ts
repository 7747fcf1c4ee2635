import { DatabaseUnavailableError, InvalidOptionError } from "./errors.js";
import type { EventMap, EventName, Events } from "./events.js";
import { loggableFields, redactedText } from "./log-redaction.js";
import { nearestName } from "./nearest-name.js";
import { oneOf } from "./settings.js";

/** What pino, console and most others already are. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type LogLevel = keyof Logger;
type Level = LogLevel;

type Words = {
  readonly [N in EventName]: readonly [
    Level | ((event: EventMap[N]) => Level),
    (event: EventMap[N]) => string,
  ];
};

/** The wording of every log line. */
const words: Words = {
  "payload:warned": ["warn", (e) => `a ${e.kind} payload has ${e.bytes} bytes; store large data elsewhere`],
  "jobs:enqueued": ["debug", (e) => `enqueued ${e.count} into ${e.queue}`],
  "jobs:claimed": ["debug", (e) => `${e.workerId} claimed ${e.count} of ${e.queue} under token ${e.token}`],
  "claim:finished": [
    "debug",
    (e) =>
      `a claim of ${e.workerId} (${e.cause}) brought ${e.rows} of ${e.queue} in ${e.tookMs.toFixed(1)} ms`,
  ],
  "job:handled": ["debug", (e) => `${e.kind} ${e.id} took ${e.tookMs.toFixed(1)} ms, attempt ${e.attempt}`],
  "job:settled": ["debug", (e) => `${e.id} is ${e.status}`],
  "lease:lost": ["warn", (e) => `the lease on ${e.id} under token ${e.token} was lost (${e.during})`],
  "job:started": ["debug", (e) => `${e.kind} ${e.id} of ${e.partitionKey} started, attempt ${e.attempt}`],
  "job:failed": [
    // The last attempt is told as a dead letter, when that is written.
    (e) => (e.outcome === "dead_letter" ? "debug" : "warn"),
    (e) => `${e.kind} ${e.id} failed in attempt ${e.attempt} (${e.outcome}): ${e.error}`,
  ],
  "job:dead_lettered": [
    "error",
    (e) =>
      `${e.kind === null ? "" : `${e.kind} `}${e.id} is a dead letter of ${e.queue}${e.attempt === null ? "" : ` after attempt ${e.attempt}`}: ${e.error}`,
  ],
  "job:stuck": [
    "error",
    (e) => `the handler of ${e.kind} ${e.id} ignores its signal; its slot is used again`,
  ],
  "job:threw": ["warn", (e) => `${e.kind} ${e.id} is done, but its handler threw afterwards: ${e.error}`],
  "transaction:unawaited": [
    "warn",
    (e) =>
      `the handler of ${e.kind} ${e.id} did not wait for its job.transaction, which ${e.isCommitted ? "has committed" : "has failed"}; an await is missing`,
  ],
  "jobs:released": ["info", (e) => `${e.count} row(s) of ${e.queue} went back unstarted: ${e.why}`],
  "settle:failed": ["error", (e) => `the outcome of ${e.id} could not be written: ${e.error}`],
  "worker:registered": [
    "info",
    (e) =>
      `${e.workerId} is registered, generation ${e.generation}${e.hasSession ? "" : ", without a session of its own"} (${e.why})`,
  ],
  "worker:started": ["info", (e) => `${e.workerId} works on ${e.queue}, ${e.concurrency} at a time`],
  "worker:draining": ["info", (e) => `${e.workerId} leaves ${e.queue}: ${e.running} running (${e.why})`],
  "worker:stopped": [
    "info",
    (e) => `${e.workerId} has left ${e.queue}${e.isClean ? "" : "; what it could not settle is taken over"}`,
  ],
  "worker:superseded": [
    "error",
    (e) =>
      `another process runs as ${e.workerId} and has replaced generation ${e.generation}; give each its own WORKER_ID`,
  ],
  "queue:dropped": ["error", (e) => `the queue ${e.queue} was dropped; ${e.workerId} stops its worker on it`],
  "worker:failing": [
    "error",
    (e) =>
      `${e.workerId} gives up its buckets of ${e.queue}: its last ${e.failures} ${e.what}s failed: ${e.error}`,
  ],
  "worker:recovered": ["info", (e) => `${e.workerId} is back on ${e.queue}: a ${e.what} worked`],
  "workers:lost": ["warn", (e) => `lost: ${e.workerIds.join(", ")}; their keys move`],
  "ring:changed": [
    "info",
    (e) =>
      `${e.workerId} owns ${e.owned} buckets of ${e.queue} (+${e.gained} -${e.lost}) among ${e.workers.length} worker(s)`,
  ],
  "trust:lost": ["error", (e) => `${e.workerId} could not beat in time and claims nothing for now`],
  "trust:regained": ["info", (e) => `${e.workerId} is seen again`],
  "session:opened": ["debug", (e) => `${e.workerId} has a session${e.isLocked ? " and its lock" : ""}`],
  "session:lost": ["warn", (e) => `${e.workerId} lost its session: ${e.reason}`],
  "wake:unavailable": ["warn", (e) => `notifications do not arrive, polling instead: ${e.reason}`],
  "activity:failed": [
    (e) => (isWorthALine(e.failures) && !(e.error instanceof DatabaseUnavailableError) ? "warn" : "debug"),
    (e) => `${e.activity} failed (${e.failures}), trying again: ${e.error}`,
  ],
  "tenant:started": ["info", (e) => `${e.workerId} runs ${e.tenant} under token ${e.token}`],
  "tenant:stopped": [
    "info",
    (e) =>
      `${e.workerId} has ended ${e.tenant} (${e.reason})${e.isStuck ? "; it ignores its signal and may still be running" : ""}`,
  ],
  "tenant:failed": [
    "error",
    (e) => `${e.tenant} could not be started (${e.attempt}), again in ${e.againInMs} ms: ${e.error}`,
  ],
  "tenant:threw": ["warn", (e) => `stop() of ${e.tenant} threw: ${e.error}`],
  "tenant:refused": ["debug", (e) => `${e.tenant} is ${e.owner ?? "nobody"}'s to run`],
  "tenants:shared": [
    "debug",
    (e) =>
      `${e.supervisor}: ${e.running} of ${e.hot} hot tenants run here, ${e.won} new, ${e.moving} to move, ${e.waiting} waiting`,
  ],
  "tenants:unlisted": [
    "error",
    (e) => `${e.supervisor}: which tenants are hot is not known anew: ${e.error}`,
  ],
  "worker:looping": [
    "error",
    (e) =>
      `${e.workerId} was started ${e.restarts} times within minutes (generation ${e.generation}); look at its logs`,
  ],
  "housekeeping:finished": [
    (e) => (e.workersMarked.length > 0 ? "warn" : "debug"),
    (e) =>
      `housekeeping: ${e.queues} queue(s), ${e.removed} row(s) removed${e.workersMarked.length > 0 ? `; lost by TTL: ${e.workersMarked.join(", ")}` : ""}`,
  ],
  "dead_letters:archived": [
    "info",
    (e) => `${e.rows} old dead letter(s) of ${e.queue} were moved to the archive`,
  ],
  "archive:strayed": [
    "warn",
    (e) => `${e.rows} finished row(s) of ${e.queue} had no archive day and wait in the rest`,
  ],
  "queue:differs": [
    "warn",
    (e) =>
      `the queue ${e.queue} keeps what is stored: ${e.differences.map(({ option, given, stored }) => `${option} is ${JSON.stringify(stored)}, the code says ${JSON.stringify(given)}`).join("; ")}`,
  ],
  "kind:unhandled": [
    "warn",
    (e) => `no live worker of ${e.queue} has a handler for the kind ${e.kind}: ${e.jobs} job(s) wait`,
  ],
  "migration:skipped": [
    "info",
    (event) =>
      `the schema ${event.schema} has revision ${event.revision}; this version (${event.own}) leaves it as it is`,
  ],
  "library:outdated": ["error", (event) => `the worker on ${event.queue} stops: ${event.error}`],
  "history:dropped": ["warn", (e) => `${e.entries} entries of the history were not written: ${e.error}`],
  "migration:applied": [
    "info",
    (e) => `applied migration ${e.id} ${e.name}${e.queue === "" ? "" : ` to ${e.queue}`}`,
  ],
  "database:lost": ["error", (e) => `the database is lost, trying on: ${e.reason}`],
  "database:regained": [
    "warn",
    (e) => `the database is back after ${(e.lostMs / 1_000).toFixed(1)} s and ${e.retries} retries`,
  ],
  "replica:lost": ["warn", (e) => `the replica is not used, reads ask the primary: ${e.reason}`],
  "replica:regained": ["warn", (e) => `reads ask the replica again after ${(e.lostMs / 1_000).toFixed(1)} s`],
  "database:retried": ["debug", (e) => `${e.statement} is tried again (${e.tries}): ${e.reason}`],
  "statements:unnamed": [
    "warn",
    (e) => `named statements do not work on this connection, using unnamed ones: ${e.reason}`,
  ],
  "connection:lost": ["debug", (e) => `an idle connection broke: ${e.reason}`],
};

/** Raises InvalidOptionError for an event that there is not. */
export function checkedEventName<N extends EventName>(name: N): N {
  if (typeof name === "string" && Object.hasOwn(words, name)) return name;
  const nearest = nearestName(String(name), Object.keys(words));
  const advice = nearest === null ? "the type EventMap lists them" : `did you mean ${nearest}?`;
  throw new InvalidOptionError("event", name, `the name of an event (${advice})`);
}

export const logLevels: readonly LogLevel[] = Object.freeze(["debug", "info", "warn", "error"]);

/** Turns events of a level and above into log lines, without payloads, headers and secrets. What is below is not listened to: making it costs something for every job. */
export function logEvents(events: Events, logger: Logger, least: Level = "debug"): void {
  const wanted = new Set(logLevels.slice(logLevels.indexOf(oneOf("level", least, logLevels, "debug"))));
  for (const name of Object.keys(words) as EventName[]) subscribe(events, name, { logger, wanted });
}

function subscribe<N extends EventName>(
  events: Events,
  name: N,
  { logger, wanted }: { readonly logger: Logger; readonly wanted: ReadonlySet<Level> },
): void {
  const [level, say] = words[name];
  if (typeof level === "string" && !wanted.has(level)) return;
  events.on(name, (event) => {
    const chosen = typeof level === "function" ? level(event) : level;
    // What an async logger returns is the events' to catch.
    return wanted.has(chosen)
      ? logger[chosen]({ event: name, ...loggableFields(event) }, redactedText(say(event)))
      : undefined;
  });
}

/** The first failure of a loop, the tenth, the hundredth: a loop that fails for hours is not a line a second. */
function isWorthALine(failures: number): boolean {
  return Number.isInteger(Math.log10(failures));
}
