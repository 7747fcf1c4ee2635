import type { EventMap, EventName, Events } from "./events.js";

/** What pino, console and most others already are. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type Words = {
  readonly [N in EventName]: readonly ["debug" | "info" | "warn" | "error", (event: EventMap[N]) => string];
};

/** The wording of every log line. */
const words: Words = {
  "payload:warned": ["warn", (e) => `a ${e.kind} payload has ${e.bytes} bytes; store large data elsewhere`],
  "jobs:enqueued": ["debug", (e) => `enqueued ${e.count} into ${e.queue}`],
  "jobs:claimed": ["debug", (e) => `${e.workerId} claimed ${e.count} of ${e.queue} under token ${e.token}`],
  "job:settled": ["debug", (e) => `${e.id} is ${e.status}`],
  "lease:lost": ["warn", (e) => `the lease on ${e.id} under token ${e.token} was lost (${e.during})`],
  "housekeeping:finished": [
    "debug",
    (e) => `housekeeping: ${e.queues} queue(s), ${e.removed} row(s) removed`,
  ],
  "archive:strayed": [
    "warn",
    (e) => `${e.rows} finished row(s) of ${e.queue} had no archive day and wait in the rest`,
  ],
  "migration:applied": [
    "info",
    (e) => `applied migration ${e.id} ${e.name}${e.queue === "" ? "" : ` to ${e.queue}`}`,
  ],
  "database:retried": ["warn", (e) => `${e.statement} is tried again (${e.tries}): ${e.reason}`],
  "statements:unnamed": [
    "warn",
    (e) => `named statements do not work on this connection, using unnamed ones: ${e.reason}`,
  ],
  "connection:lost": ["warn", (e) => `an idle connection broke: ${e.reason}`],
};

/** Turns events into log lines. */
export function logEvents(events: Events, logger: Logger): void {
  for (const name of Object.keys(words) as EventName[]) subscribe(events, logger, name);
}

function subscribe<N extends EventName>(events: Events, logger: Logger, name: N): void {
  const [level, say] = words[name];
  events.on(name, (event) => logger[level]({ event: name, ...event }, say(event)));
}
