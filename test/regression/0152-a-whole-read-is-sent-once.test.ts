import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { GuardedDatabase } from "../../src/database/guarded-database.js";
import { primaryReader } from "../../src/database/reader.js";
import { DatabaseUnavailableError } from "../../src/errors.js";
import { createEvents } from "../../src/events.js";
import { discard } from "../../src/operate/discard.js";
import { retry } from "../../src/operate/redrive.js";
import { stats } from "../../src/operate/stats.js";
import type { Query } from "../../src/seams/database.js";
import type { QueueSeams } from "../../src/work/queue-seams.js";

/** A server on which reads of the whole table fail with these, in this order, and on which nothing is found. */
function world(failures: readonly DatabaseUnavailableError[]) {
  const left = [...failures];
  let sent = 0;
  const run = <R>({ name }: Query<R>): Promise<readonly R[]> => {
    if (!/count_jobs|pick_for/.test(name)) return Promise.resolve([]);
    sent++;
    const failure = left.shift();
    return failure === undefined ? Promise.resolve([]) : Promise.reject(failure);
  };
  const transaction = () => Promise.reject(new Error("not used"));
  const sleep = (): Promise<void> => Promise.resolve();
  const clock = { monotonicMs: () => 0, epochMs: () => 0, databaseNow: () => null, sleep };
  const random = { fraction: () => 0, bytes: (count: number) => new Uint8Array(count) };
  const database = new GuardedDatabase({
    database: { run, transaction, close: () => Promise.resolve() },
    ...{ clock, random, events: createEvents() },
  });
  const bind = binder({ schema: "leasehold", queue: "inbox" });
  const settings = { name: "inbox", onDeadLetter: "continue" } as QueueSeams["settings"];
  const seams = { settings, database, reads: primaryReader(database), bind, clock } as unknown as QueueSeams;
  return { seams, sent: () => sent };
}

const late = (): DatabaseUnavailableError =>
  new DatabaseUnavailableError("lh_x", true, { cause: new Error("it took longer than 60000 ms") });

type Call = (seams: QueueSeams) => Promise<unknown>;

const calls: readonly [string, Call, RegExp][] = [
  ["stats()", (seams) => stats(seams, {}), /count_jobs \(it took longer.*stats\(\{ exact: false \}\)/],
  ["discard()", (seams) => discard(seams, { status: "pending" }), /Nothing was discarded.*a limit, or ids/],
  ["retry()", (seams) => retry(seams, {}), /Go on in parts: give ids/],
];

/** It was sent up to ten times, each beside those before, which the server was still at. */
test.each(calls)("%s is not sent again when no answer came, and says what to do", async (_, call, words) => {
  const { seams, sent } = world([late()]);
  const error = await call(seams).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(String(error)).toMatch(words);
  expect(sent()).toBe(1);
});

test.each(calls)("%s is tried again when it can't have reached the server", async (_, call) => {
  const { seams, sent } = world([new DatabaseUnavailableError("lh_x", false)]);
  await call(seams);
  expect(sent()).toBe(2);
});
