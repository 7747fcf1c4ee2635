import { describe, expect, test } from "vitest";
import { createEvents, type EventMap } from "../../../src/events.js";
import { defaults } from "../../../src/settings.js";
import { type NewJobInput, newJob } from "../../../src/work/new-job.js";
import { qualified } from "../../../src/work/queue-settings.js";

const id = "01a1e0d8-3bb3-7000-9dbc-43846d925fe2";
const settings = qualified("inbox", "leasehold", { order: "none", payloadLimitBytes: 5_000 });

function make(input: Partial<NewJobInput>): {
  fields: Record<string, unknown>;
  warned: EventMap["payload:warned"][];
} {
  const events = createEvents();
  const warned: EventMap["payload:warned"][] = [];
  events.on("payload:warned", (event) => warned.push(event));
  const job = newJob({ kind: "receipt.send", payload: 1, ...input }, id, { settings, events });
  return { fields: JSON.parse(job.json) as Record<string, unknown>, warned };
}

test("a job with nothing but kind and payload leaves its attempts to the database and has no key", () => {
  expect(make({ payload: { order: 9182 } }).fields).toEqual({
    id,
    kind: "receipt.send",
    payload: { order: 9182 },
  });
});

test("everything a producer says is in the JSON", () => {
  const { fields } = make({
    partitionKey: "order:9182",
    idempotencyKey: "receipt:9182",
    priority: -3,
    maxAttempts: 1,
    delayMs: 250,
    headers: { traceparent: "00-1" },
  });
  expect(fields).toMatchObject({
    partition_key: "order:9182",
    idempotency_key: "receipt:9182",
    priority: -3,
    max_attempts: 1,
    delay_ms: 250,
    headers: { traceparent: "00-1" },
  });
  expect(make({ availableAt: new Date(0) }).fields).toMatchObject({
    available_at: "1970-01-01T00:00:00.000Z",
  });
});

test("the idempotency key is told apart for the lane that the job goes to", () => {
  const queue = { settings, events: createEvents() };
  expect(newJob({ kind: "k", payload: 1 }, id, queue).idempotencyKey).toBeNull();
  expect(newJob({ kind: "k", payload: 1, idempotencyKey: "a" }, id, queue).idempotencyKey).toBe("a");
});

test("a payload can't add fields of its own to the job", () => {
  const { fields } = make({ payload: '","id":"other","kind":"evil' });
  expect(fields).toMatchObject({ id, kind: "receipt.send", payload: '","id":"other","kind":"evil' });
});

describe("kind, partition key and idempotency key", () => {
  const places = [
    ["kind", defaults.kindBytesMax],
    ["partitionKey", defaults.keyBytesMax],
    ["idempotencyKey", defaults.keyBytesMax],
  ] as const;

  test.each(places)("%s of exactly %d bytes passes, one byte more is refused", (place, max) => {
    expect(() => make({ [place]: "k".repeat(max) })).not.toThrow();
    expect(() => make({ [place]: "é".repeat(max / 2) })).not.toThrow();
    const refused = expect.objectContaining({ code: "LH_INVALID_KEY" });
    expect(() => make({ [place]: "k".repeat(max + 1) })).toThrow(refused);
    expect(() => make({ [place]: `${"é".repeat(max / 2)}x` })).toThrow(refused);
    expect(() => make({ [place]: "\u{1f600}".repeat(max / 4 + 1) })).toThrow(/has \d+ bytes, the limit is/);
  });

  test.each(places)("%s that is empty, not text or not storable is refused", (place) => {
    for (const value of ["", "a\u0000", "\ud800", 7, null, {}, ["a"]]) {
      expect(() => make({ [place]: value })).toThrow(expect.objectContaining({ code: "LH_INVALID_KEY" }));
    }
  });
});

describe("numbers and times", () => {
  const refused: readonly (readonly [option: string, values: readonly unknown[]])[] = [
    ["maxAttempts", [0, -1, 1.5, 1_001, "5", Number.NaN]],
    ["delayMs", [-1, 0.5, defaults.delayMsMax + 1, "1", null]],
    ["priority", [2_147_483_648, -2_147_483_648, 0.1, "1", null]],
    [
      "availableAt",
      [new Date(Number.NaN), new Date(-1), new Date(253_402_300_800_000), "2030-01-01", 0, null],
    ],
    ["headers", [null, [], "a", 1]],
  ];

  test.each(refused)("%s outside of its range is refused by name", (option, values) => {
    for (const value of values) {
      const input = { [option]: value } as Partial<NewJobInput>;
      expect(() => make(input)).toThrow(expect.objectContaining({ code: "LH_INVALID_OPTION", option }));
    }
  });

  test("the ends of every range pass", () => {
    const ends: readonly Partial<NewJobInput>[] = [
      { maxAttempts: 1 },
      { maxAttempts: 1_000 },
      { delayMs: 0 },
      { delayMs: defaults.delayMsMax },
      { priority: 2_147_483_647 },
      { priority: -2_147_483_647 },
      { availableAt: new Date(253_402_300_799_000) },
    ];
    for (const input of ends) expect(() => make(input)).not.toThrow();
  });

  test("availableAt and delayMs together are refused", () => {
    const both = { availableAt: new Date(0), delayMs: 0 };
    expect(() => make(both)).toThrow(/left out when availableAt is given/);
  });
});

test("headers obey the same rules as payloads, and say that it was the headers", () => {
  expect(() => make({ headers: { at: new Date(0) } })).toThrow(
    expect.objectContaining({ code: "LH_INVALID_PAYLOAD", path: "headers.at" }),
  );
  expect(() => make({ headers: { big: "x".repeat(5_000) } })).toThrow(/^The headers has/);
});

test("a payload over 2 KB is warned about with its size, one up to it is not", () => {
  expect(make({ payload: "x".repeat(2_046) }).warned).toEqual([]);
  expect(make({ payload: "x".repeat(2_047) }).warned).toEqual([
    { queue: "inbox", kind: "receipt.send", bytes: 2_049 },
  ]);
});
