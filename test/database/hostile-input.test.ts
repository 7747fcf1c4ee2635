import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LeaseholdError, type Queue } from "../../src/index.js";
import { isLong } from "../support/length.js";
import { setup, type World } from "../support/world.js";
import { startWorker, until } from "../worker/worker-world.js";

/** Inputs of a run; each is a payload, a key, a kind, headers, an idempotency key and something to throw. */
const inputs = isLong ? 10_000 : 2_000;
const atATime = 500;

const awkwardText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\udfff\ud800",
    "e\u0301",
    "\u00e9",
    "\u202eabc",
    "'; drop table inbox; --",
    "\\",
    "%s",
    "$1",
    "__proto__",
    "constructor",
  ),
  fc.integer({ min: 500, max: 530 }).map((length) => "x".repeat(length)),
  fc.integer({ min: 120, max: 140 }).map((length) => "😀".repeat(length)),
);

const awkwardValue = fc.oneof(
  { arbitrary: fc.jsonValue({ maxDepth: 4 }), weight: 4 },
  fc.anything({
    maxDepth: 4,
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    key: awkwardText,
    values: [
      fc.double(),
      fc.maxSafeInteger(),
      awkwardText,
      fc.constantFrom(null, undefined, true, -0, 1e308, 5e-324),
    ],
  }),
  fc
    .integer({ min: 50, max: 300 })
    .map((depth) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as unknown),
  fc.constantFrom(
    cyclic(),
    { toJSON: () => "other" },
    throwing(),
    new Proxy({}, {}),
    () => 1,
    Symbol("s"),
    [undefined],
    "x".repeat(70_000),
  ),
);

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

function throwing(): unknown {
  return Object.defineProperty({}, "trap", {
    enumerable: true,
    get: () => {
      throw new Error("a getter that throws");
    },
  });
}

/** One in four is awkward: an input is refused for the first thing that is wrong with it, and much of it should come to be stored. */
const seldom = <T>(usual: fc.Arbitrary<T>, awkward: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: usual, weight: 3 }, { arbitrary: awkward, weight: 1 });

const hostile = fc.record({
  kind: seldom(fc.constant("work"), awkwardText),
  payload: awkwardValue,
  partitionKey: seldom<string | undefined>(fc.constantFrom(undefined, "a", "b", "order:9182"), awkwardText),
  idempotencyKey: seldom<string | undefined>(fc.constant(undefined), awkwardText),
  headers: seldom<Record<string, string> | undefined>(
    fc.constant(undefined),
    fc.dictionary(awkwardText, awkwardText, { maxKeys: 3 }),
  ),
  thrown: fc.option(awkwardValue, { nil: undefined, freq: 4 }),
});

type Hostile = Parameters<Parameters<typeof hostile.map>[0]>[0];

/** True for what JSON can say without changing it; a property that is undefined is as good as none. */
function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return Array.from(value).every((one) => one !== undefined && isJson(one));
  if (typeof value !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((one) => one === undefined || isJson(one));
}

interface Outcome {
  readonly stored: Map<string, Hostile>;
  readonly refusals: Map<string, number>;
}

async function enqueueAll(inbox: Queue, given: readonly Hostile[]): Promise<Outcome> {
  const stored = new Map<string, Hostile>();
  const refusals = new Map<string, number>();
  const enqueue = async (one: Hostile): Promise<void> => {
    const { kind, payload, partitionKey, idempotencyKey, headers } = one;
    try {
      const answer = await inbox.enqueue(kind, payload, {
        maxAttempts: 1,
        ...(partitionKey === undefined ? {} : { partitionKey }),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(headers === undefined ? {} : { headers }),
      });
      if (!answer.duplicate) stored.set(answer.id, one);
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      refusals.set(error.code, (refusals.get(error.code) ?? 0) + 1);
    }
  };
  for (let i = 0; i < given.length; i += atATime) await Promise.all(given.slice(i, i + atATime).map(enqueue));
  return { stored, refusals };
}

test("hostile payloads, keys, kinds and headers are stored as they are or refused with a code; hostile errors end their attempt; no key is stuck", {
  timeout: 300_000,
}, async () => {
  const seed = Number(process.env.LEASEHOLD_TEST_SEED ?? 20_261_116);
  const given = fc.sample(hostile, { numRuns: inputs, seed });
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const { stored, refusals } = await enqueueAll(inbox, given);
  expect([...refusals.keys()].sort()).toEqual([
    "LH_INVALID_KEY",
    "LH_INVALID_PAYLOAD",
    "LH_PAYLOAD_TOO_LARGE",
  ]);
  expect(stored.size).toBeGreaterThan(inputs / 4);
  const wrong = await workOff(world, stored);
  expect(wrong).toEqual([]);
  const [left] = await world.sql<{ stuck: string; dead: string; odd: string }>(
    `select count(*) filter (where status <> 'dead_letter') as stuck, count(*) filter (where status = 'dead_letter') as dead,
            count(*) filter (where last_error is null) as odd from leasehold.inbox`,
  );
  const [archived] = await world.sql<{ done: string }>(
    "select count(*) as done from leasehold.inbox_archive",
  );
  expect(left).toMatchObject({ stuck: "0", odd: "0" });
  expect(Number(left?.dead) + Number(archived?.done)).toBe(stored.size);
  console.log(
    `seed ${seed}: ${inputs} inputs, ${stored.size} stored, refused ${JSON.stringify(Object.fromEntries(refusals))}, ${left?.dead} dead letters of hostile errors`,
  );
});

/** Works on everything; what came back different is told. Kinds nobody has heard of are given a handler too. */
async function workOff(world: World, stored: ReadonlyMap<string, Hostile>): Promise<string[]> {
  const wrong: string[] = [];
  let seen = 0;
  const handle = (job: {
    readonly id: string;
    readonly payload: unknown;
    readonly headers: object;
    readonly partitionKey: string;
  }): void => {
    seen++;
    const sent = stored.get(job.id);
    if (sent === undefined) return void wrong.push(`${job.id} was never stored`);
    if (!isJson(sent.payload)) wrong.push(`${job.id}: a payload that is not JSON was stored`);
    if (!isDeepStrictEqual(job.payload, JSON.parse(JSON.stringify(sent.payload))))
      wrong.push(`${job.id}: another payload came back`);
    if (!isDeepStrictEqual({ ...job.headers }, { ...(sent.headers ?? {}) }))
      wrong.push(`${job.id}: other headers came back`);
    if (sent.partitionKey !== undefined && job.partitionKey !== sent.partitionKey)
      wrong.push(`${job.id}: another key came back`);
    if (sent.thrown !== undefined) throw sent.thrown;
  };
  const kinds = new Set([...stored.values()].map((one) => one.kind));
  await startWorker(world.lh, Object.fromEntries([...kinds].map((kind) => [kind, handle])));
  await until(`all of ${stored.size} have been handled`, () => seen >= stored.size, 120_000);
  await until(
    "and settled",
    async () =>
      (await world.lh.queue("inbox")).stats().then((stats) => stats.pending + stats.processing === 0),
    30_000,
  );
  return wrong;
}

test("hostile names of queues and schemas are refused with a code before any SQL", async () => {
  const world = await setup();
  for (const name of fc.sample(awkwardText, { numRuns: 300, seed: 7 })) {
    const error = await world.lh.queue(name).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(LeaseholdError);
    expect((error as LeaseholdError).code).toMatch(/^LH_(INVALID_NAME|UNKNOWN_QUEUE)$/);
    const schema = await world.connect({ schema: name }).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (schema !== null) expect(schema).toBeInstanceOf(LeaseholdError);
  }
});
