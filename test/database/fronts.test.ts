import { expect, test } from "vitest";
import { settableClock, setup, type World } from "../support/world.js";

const key = "order:9182";
const start = new Date("2026-11-15T03:00:00Z");

interface Answer {
  readonly id: string | null;
  readonly kind: string | null;
  readonly payload: unknown;
  readonly partition_key: string | null;
}

/** A claim of the bucket from a place, and where it says that the first unfinished row is. */
async function claimFrom(
  world: World,
  after: string,
  { limit = 10, now = start } = {},
): Promise<{ readonly payloads: readonly unknown[]; readonly front: string | null }> {
  const answers = await world.sql<Answer>(
    `select id, kind, payload, partition_key
     from leasehold.inbox_claim('a', array[leasehold.bucket_of($1, 360)], array[$2::text], $3::int, 10, 10, 1, 60000, null, $4::timestamptz)`,
    [key, after, limit, now],
  );
  return {
    payloads: answers.filter(({ id }) => id !== null).map(({ payload }) => payload),
    front: answers.find(({ kind }) => kind === "front")?.partition_key ?? null,
  };
}

/** A queue without order with a row for each payload, all in one bucket, a second apart. */
async function queueOf(payloads: readonly string[]): Promise<World> {
  const clock = settableClock(new Date(start.getTime() - payloads.length * 1_000));
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "none" });
  for (const payload of payloads) {
    await inbox.enqueue("step", payload, { partitionKey: key });
    clock.advance(1_000);
  }
  return world;
}

const finish = async (world: World, payload: string): Promise<void> => {
  await world.sql("delete from leasehold.inbox where payload = to_jsonb($1::text)", [payload]);
};

test("a claim that asks for it begins at the first unfinished row and tells where that is", async () => {
  const world = await queueOf(["a", "b", "c"]);
  await finish(world, "a");
  const first = await claimFrom(world, "~", { limit: 1 });
  expect(first.payloads).toEqual(["b"]);
  const again = await claimFrom(world, `~${first.front}`, { limit: 1 });
  expect(again).toEqual({ payloads: ["c"], front: first.front }); // b is in process, so it is still the first.
  await finish(world, "b");
  const last = await claimFrom(world, `~${first.front}`);
  expect(last.payloads).toEqual([]);
  expect(last.front).not.toBe(first.front);
  await finish(world, "c");
  const aMinuteAgo = (start.getTime() - 60_000) * 1_000;
  expect(await claimFrom(world, `~${last.front}`)).toEqual({ payloads: [], front: `0:${aMinuteAgo}:0` });
});

test("what is lost behind the first unfinished row is found from there, and not from a position beyond it", async () => {
  const world = await queueOf(["a", "b", "c"]);
  const { front } = await claimFrom(world, "~", { limit: 2 });
  const position = (await world.sql<{ at: string }>(
    "select priority || ':' || (extract(epoch from available_at) * 1000000)::bigint || ':' || seq as at from leasehold.inbox where payload = to_jsonb('b'::text)",
  )) as [{ at: string }];
  const later = new Date(start.getTime() + 60_000);
  expect((await claimFrom(world, position[0].at, { now: later })).payloads).toEqual(["c"]);
  await claimFrom(world, `~${front}`, { now: later }); // Gives them back; their backoff has to pass.
  const muchLater = new Date(start.getTime() + 3_600_000);
  expect((await claimFrom(world, `~${front}`, { now: muchLater })).payloads.toSorted()).toEqual(["a", "b"]);
});

test("a more urgent row is found in front of the first unfinished one", async () => {
  const world = await queueOf(["a", "b"]);
  const { front } = await claimFrom(world, "~", { limit: 1 });
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, priority, available_at) values ('step', '"urgent"', $1, -5, $2)`,
    [key, start],
  );
  expect((await claimFrom(world, `~${front}`, { limit: 1 })).payloads).toEqual(["urgent"]);
  expect((await claimFrom(world, "~", { limit: 1 })).front).toMatch(/^-5:/);
});

test("a row of the same urgency that appears before it is found from the very front alone", async () => {
  const world = await queueOf(["a"]);
  const { front } = await claimFrom(world, "~");
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, available_at) values ('step', '"late"', $1, $2)`,
    [key, new Date(start.getTime() - 10_000)],
  );
  expect((await claimFrom(world, `~${front}`)).payloads).toEqual([]);
  expect((await claimFrom(world, "~")).payloads).toEqual(["late"]);
});

test("buckets that are deep are filled up from behind what was found in them first", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none", buckets: 4 });
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
  const [one] = await world.sql<{ key: string }>(
    "select k as key from unnest($1::text[]) k where leasehold.bucket_of(k, 4) = 2 limit 1",
    [keys],
  );
  const partitionKey = one?.key ?? "";
  const jobs = Array.from({ length: 30 }, (_, i) => ({
    kind: "step",
    payload: i,
    partitionKey,
    priority: i % 3,
  }));
  await inbox.enqueueMany(jobs);
  const claimed = await inbox.claim({ workerId: "a", limit: 20 });
  const expected = jobs
    .toSorted((left, right) => left.priority - right.priority)
    .map(({ payload }) => payload);
  expect(claimed.map(({ payload }) => payload)).toEqual(expected.slice(0, 20));
});
