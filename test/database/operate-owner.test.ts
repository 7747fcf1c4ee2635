import { expect, test } from "vitest";
import { InvalidKeyError, InvalidOptionError, UnknownWorkerError } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

async function register(world: World, ids: readonly string[], region: string | null = null): Promise<void> {
  await world.sql(
    "insert into leasehold.workers (id, region, queues, ttl) select unnest($1::text[]), $2, '{inbox}', '1 hour'",
    [ids, region],
  );
}

const owned = (owners: readonly (string | null)[], id: string): number =>
  owners.filter((owner) => owner === id).length;

test.each(["rendezvous", "consistent"] as const)(
  "the owner of a key and who would be next are those of the ring (%s)",
  async (ring) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", ring });
    const nobody = await inbox.ownerOf("order:9182");
    expect(nobody).toMatchObject({ key: "order:9182", owner: null, next: null, since: null });
    await register(world, ["w1"]);
    expect(await inbox.ownerOf("order:9182")).toMatchObject({ owner: "w1", next: null });
    await register(world, ["w2", "w3"]);
    const { bucket, position, owner, next } = await inbox.ownerOf("order:9182");
    const { id } = await inbox.enqueue("step", 1, { partitionKey: "order:9182" });
    expect(bucket).toBe((await inbox.get(id))!.bucket);
    expect(owner).toBe((await world.lh.ring("inbox")).owners[bucket]);
    expect(position).toBe(nobody.position);
    expect(position).toBeGreaterThanOrEqual(0);
    expect(position).toBeLessThan(1);
    await world.lh.evict(owner!);
    expect(await inbox.ownerOf("order:9182")).toMatchObject({ owner: next, position });
    expect(next).not.toBe(owner);
  },
);

test("buckets lie all over the ring", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const positions = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => (await inbox.ownerOf(`order:${i}`)).position),
  );
  for (const quarter of [0, 1, 2, 3])
    expect(positions.some((position) => Math.floor(position * 4) === quarter)).toBe(true);
});

test("a key that no job can have has no owner", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const key of ["", "a\u0000", "\ud800", "x".repeat(513), 7, null, undefined])
    await expect(inbox.ownerOf(key as string)).rejects.toBeInstanceOf(InvalidKeyError);
});

test("a preview is what the ring becomes", async () => {
  const world = await setup();
  await world.queue();
  await register(world, ["w1", "w2"]);
  const now = await world.lh.ring("inbox");
  const joined = await world.lh.previewRing("inbox", { add: ["w3", "w3"] });
  expect(joined.before).toEqual(now);
  expect(joined.after.members).toEqual(["w1", "w2", "w3"]);
  const moves = now.owners.flatMap((from, bucket) => {
    const to = joined.after.owners[bucket] ?? null;
    return from === to ? [] : [{ bucket, from, to }];
  });
  expect(joined.moved).toEqual(moves);
  expect(moves.length).toBeGreaterThan(0);
  expect(await world.lh.ring("inbox"), "nothing was changed").toEqual(now);
  await register(world, ["w3"]);
  expect(await world.lh.ring("inbox")).toEqual(joined.after);
  const left = await world.lh.previewRing("inbox", { remove: ["w1"] });
  expect(owned(left.after.owners, "w1")).toBe(0);
  await world.lh.evict("w1");
  expect(await world.lh.ring("inbox")).toEqual(left.after);
  const all = await world.lh.previewRing("inbox", { remove: ["w2", "w3"], add: [] });
  expect(all.after.members).toEqual([]);
  expect(all.moved).toHaveLength(360);
  expect(all.moved[0]!.to).toBeNull();
  expect((await world.lh.previewRing("inbox", {})).moved).toEqual([]);
  expect(JSON.parse(JSON.stringify(left))).toEqual(left);
});

test("a worker that joins a preview is where the registry last saw it", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key", preferRegions: ["eu"] });
  await register(world, ["w1"]);
  await register(world, ["w2"], "eu");
  await world.lh.evict("w2");
  const back = await world.lh.previewRing("inbox", { add: ["w2"] });
  expect(back.after.members).toEqual(["w2"]);
  expect((await world.lh.previewRing("inbox", { add: ["new"] })).after.members).toEqual(["new", "w1"]);
});

test("a preview refuses workers that are there already, or not there", async () => {
  const world = await setup();
  await world.queue();
  await register(world, ["w1"]);
  const preview = (change: unknown) => world.lh.previewRing("inbox", change as object);
  await expect(preview({ remove: ["w2"] })).rejects.toBeInstanceOf(UnknownWorkerError);
  for (const change of [
    { add: ["w1"] },
    { add: "w2" },
    { add: Array(1_001).fill("w") },
    { ad: ["w2"] },
    null,
  ])
    await expect(preview(change)).rejects.toBeInstanceOf(InvalidOptionError);
  for (const change of [{ add: [7] }, { remove: [""] }, { add: ["a\u0000"] }])
    await expect(preview(change)).rejects.toBeInstanceOf(InvalidKeyError);
});
