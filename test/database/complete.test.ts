import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

interface Held {
  readonly id: string;
  readonly token: string;
}

/** Rows in process by worker `a`: the first two under one token, the third under another. */
async function inHand(world: World, retentionMs: number): Promise<readonly Held[]> {
  const inbox = await world.queue("inbox", { order: "none", retentionMs });
  await inbox.enqueueMany([1, 2, 3].map((payload) => ({ kind: "step", payload })));
  const first = await inbox.claim({ workerId: "a", limit: 2 });
  const second = await inbox.claim({ workerId: "a", limit: 1 });
  return [...first, ...second].map((job) => ({ id: job.id, token: job.fenceToken.toString() }));
}

/** What was not held. One token for all, where all have the same. */
async function complete(world: World, worker: string, rows: readonly Held[]): Promise<readonly Held[]> {
  const tokens = [...new Set(rows.map(({ token }) => token))];
  return await world.sql<Held>("select id, token from leasehold.inbox_complete($1, $2, $3, null)", [
    worker,
    rows.map(({ id }) => id),
    tokens.length === 1 ? tokens : rows.map(({ token }) => token),
  ]);
}

async function left(
  world: World,
): Promise<{ readonly inQueue: readonly string[]; readonly archived: readonly string[] }> {
  const inQueue = await world.sql<{ id: string }>("select id from leasehold.inbox order by id");
  const archived = await world.sql<{ id: string }>("select id from leasehold.inbox_archive order by id");
  return { inQueue: inQueue.map(({ id }) => id), archived: archived.map(({ id }) => id) };
}

const idsOf = (rows: readonly Held[]): string[] => rows.map(({ id }) => id).toSorted();

const stale = (held: Held): Held => ({ ...held, token: "0" });

test.each([0, 604_800_000])("done rows leave, one or many, with retention %i", async (retentionMs) => {
  const world = await setup();
  const held = await inHand(world, retentionMs);
  const [one, two, three] = held as [Held, Held, Held];
  const kept = (ids: readonly Held[]): string[] => (retentionMs === 0 ? [] : idsOf(ids));
  expect(await complete(world, "a", [one])).toEqual([]);
  expect(await left(world)).toEqual({ inQueue: idsOf([two, three]), archived: kept([one]) });
  expect(await complete(world, "a", [two, three])).toEqual([]);
  expect(await left(world)).toEqual({ inQueue: [], archived: kept(held) });
});

test.each([0, 604_800_000])(
  "nothing leaves under a token that has gone by, or for another worker, with retention %i",
  async (retentionMs) => {
    const world = await setup();
    const held = await inHand(world, retentionMs);
    const [one, two, three] = held as [Held, Held, Held];
    const before = await left(world);
    for (const [worker, rows] of [
      ["a", [stale(one)]],
      ["b", [one]],
      ["a", [stale(one), stale(two)]],
      ["b", [one, two]],
      ["b", [one, three]],
      [
        "a",
        [
          { ...one, token: three.token },
          { ...three, token: one.token },
        ],
      ],
    ] as const) {
      expect(await complete(world, worker, rows)).toHaveLength(rows.length);
      expect(await left(world)).toEqual(before);
    }
  },
);

test.each([0, 604_800_000])(
  "of a batch with a row that is not held the others leave, with retention %i",
  async (retentionMs) => {
    const world = await setup();
    const held = await inHand(world, retentionMs);
    const [one, two, three] = held as [Held, Held, Held];
    expect(await complete(world, "a", [one, stale(two), three])).toEqual([stale(two)]);
    expect(await left(world)).toEqual({
      inQueue: [two.id],
      archived: retentionMs === 0 ? [] : idsOf([one, three]),
    });
    const gone = { id: one.id, token: two.token };
    expect(await complete(world, "a", [gone, two])).toEqual([gone]);
    expect((await left(world)).inQueue).toEqual([]);
  },
);
