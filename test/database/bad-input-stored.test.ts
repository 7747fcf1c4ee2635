import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DatabaseRefusedError, deadLetter, LeaseholdError } from "../../src/index.js";
import { setup } from "../support/world.js";

test("one bad enqueue among concurrent ones rejects alone and the rest commit", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const payloads = Array.from({ length: 60 }, (_, i) => (i % 20 === 7 ? `${i}\u0000` : i));
  const options = (i: number) => (i % 2 === 0 ? {} : { idempotencyKey: `key:${i}` });
  const results = await Promise.allSettled(payloads.map((p, i) => inbox.enqueue("k", p, options(i))));
  const failed = results.flatMap((result, i) => (result.status === "rejected" ? [i] : []));
  expect(failed).toEqual([7, 27, 47]);
  const stored = await world.sql<{ payload: number }>("select payload from leasehold.inbox order by payload");
  expect(stored.map((row) => row.payload)).toEqual(payloads.filter((p) => typeof p === "number"));
});

test.each([
  ["without keys", () => undefined],
  ["with idempotency keys", (i: number) => `key:${i}`],
])("a row that the database refuses reaches its caller alone, %s", async (_name, keyOf) => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql("alter table leasehold.inbox add constraint no_poison check (kind <> 'poison')");
  const kinds = Array.from({ length: 40 }, (_, i) => (i === 3 || i === 31 ? "poison" : "fine"));
  const results = await Promise.allSettled(
    kinds.map((kind, i) => {
      const key = keyOf(i);
      return inbox.enqueue(kind, i, {
        partitionKey: "one",
        ...(key === undefined ? {} : { idempotencyKey: key }),
      });
    }),
  );
  for (const [i, result] of results.entries()) {
    if (kinds[i] === "fine")
      expect(result).toMatchObject({ status: "fulfilled", value: { duplicate: false } });
    else
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "LH_DATABASE_REFUSED", sqlState: "23514" },
      });
  }
  const rows = await world.sql<{ payload: number }>("select payload from leasehold.inbox order by seq");
  expect(rows.map((row) => row.payload)).toEqual([...kinds.keys()].filter((i) => kinds[i] === "fine"));
  expect(
    await world.sql("select 1 from leasehold.dedupe where job_id not in (select id from leasehold.inbox)"),
  ).toEqual([]);
});

test("many jobs in one call are all refused when the database refuses one of them", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql("alter table leasehold.inbox add constraint no_poison check (kind <> 'poison')");
  const jobs = Array.from({ length: 2_500 }, (_, i) => ({
    kind: i === 2_400 ? "poison" : "fine",
    payload: i,
  }));
  const sent = inbox.enqueueMany(jobs);
  await expect(sent).rejects.toMatchObject({ message: expect.stringContaining("no_poison") });
  expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
});

test("an error text with NUL, lone surrogates or ten megabytes is stored with replacements and settles", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const thrown: readonly (readonly [error: unknown, text: string])[] = [
    [new Error("a\u0000b"), "Error: a\ufffdb"],
    [new Error("\ud83d half"), "Error: \ufffd half"],
    ["\u0000\ud800\udfff\u0000", "\ufffd\u{103ff}\ufffd"],
    [{ why: "\u0000" }, 'threw {"why":"\\u0000"}'],
    [new Error("x".repeat(10_000_000)), `Error: ${"x".repeat(7_993)}`],
    [new Error(`${"x".repeat(7_992)}\u{1f600}`), `Error: ${"x".repeat(7_992)}\ufffd`],
    [undefined, "threw undefined"],
  ];
  for (const [error, text] of thrown) {
    const { id } = await inbox.enqueue("k", 1);
    const [job] = await inbox.claim({ workerId: "w1" });
    expect(job?.id).toBe(id);
    expect(await inbox.fail(job!, error)).toBe(true);
    const record = await inbox.get(id);
    expect(record).toMatchObject({ status: "pending", lastError: text, claimedBy: null });
    expect(record?.errors.map((entry) => entry.message)).toEqual([text]);
  }
});

test("a dead letter's reason and a discard's reason are stored with replacements", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w1" });
  expect(await inbox.fail(job!, deadLetter("gone\u0000\ud800"))).toBe(true);
  expect(await inbox.get(id)).toMatchObject({
    status: "dead_letter",
    lastError: "DeadLetter: gone\ufffd\ufffd",
  });
  expect(await inbox.discard({ ids: [id], reason: "by hand\u0000" })).toBe(1);
  expect(await inbox.get(id)).toMatchObject({ status: "discarded", lastError: "by hand\ufffd" });
});

const numbers = [
  0,
  -0,
  1e308,
  -1e308,
  5e-324,
  1.7976931348623157e308,
  2 ** 53,
  Number("12345678901234567890"),
  1e21,
  1e-7,
  0.1,
];
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units));
const anyPayload = fc.oneof(
  fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }),
  fc.constantFrom(...numbers),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(Number),
  fc.dictionary(fc.oneof(anyText, fc.constantFrom("__proto__", "constructor", "")), anyText),
);
const anyKey = fc.oneof(
  fc.string({ unit: "binary", maxLength: 140 }),
  fc.string({ unit: "grapheme", maxLength: 600, size: "max" }),
  anyText,
  fc.constantFrom("e\u0301", "é", " a", "a ", "A", "a", "%", "\\", "'", "\u202e", "\n"),
);

test("300 payloads and keys of all kinds come back equal or are refused with a code", async () => {
  const world = await setup();
  const inbox = await world.queue();
  let stored = 0;
  await fc.assert(
    fc.asyncProperty(anyPayload, anyKey, anyKey, async (payload, partitionKey, key) => {
      const idempotencyKey = `${key}${stored}`;
      let id: string;
      try {
        ({ id } = await inbox.enqueue("k", payload, { partitionKey, idempotencyKey }));
      } catch (error) {
        expect(error).toBeInstanceOf(LeaseholdError);
        expect(error).not.toBeInstanceOf(DatabaseRefusedError);
        return;
      }
      stored += 1;
      const record = await inbox.get(id);
      expect(record).toMatchObject({ partitionKey, idempotencyKey });
      // JSON has no minus zero: it comes back as 0, which is equal to it.
      expect(isDeepStrictEqual(record?.payload, JSON.parse(JSON.stringify(payload)))).toBe(true);
    }),
    { numRuns: 300 },
  );
  expect(stored).toBeGreaterThan(100);
  expect((await inbox.stats()).pending).toBe(stored);
});

test("keys are compared byte by byte: look-alikes are different streams", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const keys = ["é", "e\u0301", "E\u0301", " é", "é ", "É"];
  for (const key of keys) await inbox.enqueue("k", key, { partitionKey: key, idempotencyKey: key });
  const jobs = await inbox.claim({ workerId: "w1" });
  expect(jobs.map((job) => job.partitionKey).sort()).toEqual([...keys].sort());
  expect(await inbox.enqueue("k", 1, { idempotencyKey: "e\u0301" })).toMatchObject({ duplicate: true });
});
