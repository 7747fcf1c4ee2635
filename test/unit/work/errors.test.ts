import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorTable } from "../../../src/error-table.js";
import * as errors from "../../../src/errors.js";
import * as library from "../../../src/index.js";

/** One of each, made the way the library makes them. */
const examples: readonly errors.LeaseholdError[] = [
  new errors.InvalidNameError("queue", "A", "it is not lower case"),
  new errors.InvalidOptionError("limit", -1, "a whole number"),
  new errors.InvalidPayloadError("payload.a", "it contains itself"),
  new errors.PayloadTooLargeError("payload", 11, 10),
  new errors.InvalidKeyError("kind", "", "it is empty"),
  new errors.UnknownQueueError("inbox", "leasehold"),
  new errors.QueueMismatchError("inbox", ["order is key"]),
  new errors.QueueInUseError("inbox", ["host-1"], true),
  new errors.RingMismatchError("inbox", "sha1", "fnv1a-fmix32"),
  new errors.NotMigratedError("leasehold", "its tables are missing"),
  new errors.OutdatedLibraryError("leasehold", { own: 1, revision: 3, oldest: 2 }, "work on it"),
  new errors.RestoredSchemaError("leasehold"),
  new errors.ReplicaMismatchError("it belongs to another system"),
  new errors.MigrationError("0001_schema: no"),
  new errors.MissingRightError("CREATEROLE", "the roles can't be created", {
    action: "Let an administrator create them",
  }),
  new errors.NotOwnerError("acme", "worker-2"),
  new errors.TenantEndedError("acme", "idle"),
  new errors.UnsupportedServerError("it is PostgreSQL 13"),
  new errors.LeaseLostError("01a1e0d8", 7n),
  new errors.AlreadyCompletedError("01a1e0d8"),
  new errors.InvalidTxError("it has no query() method"),
  new errors.StaleFenceError("order:9182", 1n, 2n),
  new errors.HandlerTimeoutError("01a1e0d8", 1_000),
  new errors.DrainedError("01a1e0d8", 30_000),
  new errors.WorkerStateError("The worker on inbox is working; it starts once."),
  new errors.UnknownWorkerError("host-1"),
  new errors.ConnectRefusedError('"shop" at db:5432/shop', "no password was given", { sqlState: null }),
  new errors.DatabaseUnavailableError("claim_jobs", true),
  new errors.DatabaseRefusedError("claim_jobs", "42501", "permission denied"),
  new errors.ReadOnlyServerError("claim_jobs", "cannot execute INSERT in a read-only transaction"),
  new errors.EnqueueBlockedError("receipt:9182", { waitedMs: 100 }),
  new errors.ClosedError("The connection"),
  new errors.EmbeddedPostgresError("no binaries"),
];

const classNames = Object.entries(errors)
  .filter(([name, value]) => typeof value === "function" && name !== "LeaseholdError")
  .map(([name]) => name)
  .sort();

test("every error class has one line in the table, and every line a class", () => {
  expect(errorTable.map((entry) => entry.class).sort()).toEqual(classNames);
  expect(examples.map((error) => error.constructor.name).sort()).toEqual(classNames);
  const codes = errorTable.map((entry) => entry.code);
  expect(new Set(codes).size).toBe(codes.length);
});

test.each(examples.map((error) => [error.constructor.name, error] as const))(
  "%s has the code, the name and the message that the table promises",
  (name, error) => {
    const entry = errorTable.find((line) => line.class === name);
    expect(error.code).toBe(entry?.code);
    expect(error.code).toMatch(/^LH_[A-Z_]+$/);
    expect(error.name).toBe(name);
    expect(error).toBeInstanceOf(errors.LeaseholdError);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).not.toMatch(/undefined|\[object/);
  },
);

test("every class of the table can be imported from the library", () => {
  for (const { class: name } of errorTable) expect(library).toHaveProperty(name);
  expect(library.errorTable).toBe(errorTable);
});

test("the table can't be changed", () => {
  expect(Object.isFrozen(errorTable)).toBe(true);
  expect(errorTable.every((entry) => Object.isFrozen(entry))).toBe(true);
});

test("docs/errors.md has exactly the lines of the table", () => {
  const lines = readFileSync("docs/errors.md", "utf8").split("\n");
  const rows = lines
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.slice(2, -2).split(" | "))
    .map(([code, name, meaning, action]) => ({ code, class: name, meaning, action }));
  const table = errorTable.map((entry) => ({
    code: `\`${entry.code}\``,
    class: `\`${entry.class}\``,
    meaning: entry.meaning,
    action: entry.action,
  }));
  expect(rows).toEqual(table);
});

test("a value in a message is quoted, shortened, and never printed whole", () => {
  const message = (value: unknown): string => new errors.InvalidOptionError("o", value, "x").message;
  expect(message("a\nb")).toContain('"a\\nb"');
  expect(message("x".repeat(10_000)).length).toBeLessThan(150);
  expect(message({ password: "s3cret" })).toContain("is an object;");
  expect(message(["s3cret"])).toContain("is an array;");
  expect(message(5n)).toContain("is 5n;");
  expect(message(() => 1)).toContain("is a function;");
  expect(message(Symbol("s"))).toContain("is a symbol;");
  expect(message(new Date(Number.NaN))).toContain("is an invalid date;");
  expect(message(undefined)).toContain("is undefined;");
});

test("a lost database tells whether the call may have committed", () => {
  expect(new errors.DatabaseUnavailableError("settle_jobs", true).message).toMatch(/may be repeated/);
  expect(new errors.DatabaseUnavailableError("settle_jobs", false).message).toMatch(/did not run/);
});

test("a refused right tells where the rights of the roles are listed", () => {
  const { code, message } = new errors.DatabaseRefusedError("claim_jobs", "42501", "permission denied");
  expect(code).toBe("LH_DATABASE_REFUSED");
  expect(message).toMatch(/permission denied\. docs\/operating\.md says what each role may do\.$/);
});
