import { expect, test } from "vitest";
import { GuardedDatabase } from "../../../src/database/guarded-database.js";
import { DatabaseUnavailableError, ReadOnlyServerError } from "../../../src/errors.js";
import { createEvents } from "../../../src/events.js";
import type { Query } from "../../../src/seams/database.js";

const write: Query<{ n: number }> = { name: "lh_write_1", text: "", values: [] };

/** A server that was a standby at connect() and fails with these, in this order; then it answers. */
function world(failures: readonly Error[]) {
  const left = [...failures];
  const run = async <R>(): Promise<readonly R[]> => {
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    return await Promise.resolve([{ n: 1 }] as R[]);
  };
  const transaction = () => Promise.reject(new Error("not used"));
  const sleep = (): Promise<void> => Promise.resolve();
  const clock = { monotonicMs: () => 0, epochMs: () => 0, databaseNow: () => null, sleep };
  const random = { fraction: () => 0, bytes: (count: number) => new Uint8Array(count) };
  const events = createEvents();
  const database = new GuardedDatabase({
    database: { run, transaction, close: () => Promise.resolve() },
    ...{ clock, random, events },
  });
  database.startedOnStandby = true;
  return { database, events };
}

const readOnly = new ReadOnlyServerError("write", "no");

test("a write on what was a standby at connect() is refused at once", async () => {
  const { database } = world([readOnly]);
  await expect(database.run(write)).rejects.toBe(readOnly);
});

test("once a connection was lost, a read-only server is a failover that is waited for", async () => {
  const { database } = world([new DatabaseUnavailableError("write", false), readOnly]);
  expect(await database.run(write)).toEqual([{ n: 1 }]);
});

test("a connection that was lost while it was idle counts as well", async () => {
  const { database, events } = world([readOnly]);
  events.emit("connection:lost", { reason: "gone" });
  expect(await database.run(write)).toEqual([{ n: 1 }]);
});
