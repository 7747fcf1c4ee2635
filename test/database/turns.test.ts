import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

interface Answer {
  readonly id: string | null;
  readonly kind: string | null;
  readonly payload: unknown;
  readonly seq: string | null;
}

/** A claim of one key beyond a remembered seq, or of the whole bucket when none is given. */
async function claimAs(claimer: string, world: World, floor: bigint | null): Promise<readonly Answer[]> {
  return await world.sql<Answer>(
    `select id, kind, payload, seq from leasehold.inbox_claim($1, array[leasehold.bucket_of('k', 360)], null, 10, 10, 10, 1,
       60000, null, null, $2::text[], $3::bigint[], $1)`,
    [claimer, floor === null ? null : ["k"], floor === null ? null : [floor.toString()]],
  );
}

const jobsIn = (answers: readonly Answer[]): unknown[] =>
  answers.filter((answer) => answer.id !== null).map((answer) => answer.payload);

const isTurn = (answers: readonly Answer[]): boolean => answers.some((answer) => answer.kind === "turn");

async function complete(world: World, claimer: string): Promise<void> {
  await world.sql(`delete from leasehold.inbox where claimed_by = $1`, [claimer]);
}

/** Two rows of one key, and the seq below both: what commits late, or is put back by a person, appears there. */
async function twoRows(world: World): Promise<bigint> {
  const inbox = await world.queue("inbox", { order: "key" });
  await inbox.enqueueMany([
    { kind: "w", payload: "first", partitionKey: "k" },
    { kind: "w", payload: "second", partitionKey: "k" },
  ]);
  const [row] = await world.sql<{ seq: string }>("select min(seq) as seq from leasehold.inbox");
  return BigInt(row?.seq ?? 0);
}

async function insertLate(world: World, seq: bigint): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, seq) values ('w', '"late"', 'k', $1)`,
    [(seq - 1n).toString()],
  );
}

test("a claimer who asks beyond what he remembers gets what is there", async () => {
  const world = await setup();
  const first = await twoRows(world);
  expect(jobsIn(await claimAs("a", world, null))).toEqual(["first", "second"]);
  await complete(world, "a");
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  const answers = await claimAs("a", world, first + 1n);
  expect(jobsIn(answers)).toEqual(["third"]);
  expect(isTurn(answers)).toBe(false);
});

test("a row below what a claimer remembers, in process with somebody else, keeps him from the rest of its key", async () => {
  const world = await setup();
  const first = await twoRows(world);
  expect(jobsIn(await claimAs("a", world, null))).toHaveLength(2);
  await world.sql(`delete from leasehold.inbox where claimed_by = 'a' and seq = $1`, [first.toString()]);
  await world.sql(
    `update leasehold.inbox set status = 'pending', claimed_by = null, lease_expires_at = null, lease_generation = 0`,
  );
  await insertLate(world, first);
  await world.sql(`update leasehold.inbox set available_at = now() + interval '1 hour' where seq > $1`, [
    first.toString(),
  ]);
  expect(jobsIn(await claimAs("b", world, null))).toEqual(["late"]);
  await world.sql(`update leasehold.inbox set available_at = now() where status = 'pending'`);
  const answers = await claimAs("a", world, first);
  expect(jobsIn(answers)).toEqual([]);
  expect(isTurn(answers)).toBe(true);
  // To ask is not to take: the bucket stays the other's.
  expect(isTurn(await claimAs("b", world, null))).toBe(false);
});

test("who looks from the front hears that somebody else took rows, once, and sees what he has in process", async () => {
  const world = await setup();
  const first = await twoRows(world);
  expect(isTurn(await claimAs("a", world, null))).toBe(true);
  await complete(world, "a");
  await insertLate(world, first);
  expect(jobsIn(await claimAs("b", world, null))).toEqual(["late"]);
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  const answers = await claimAs("a", world, null);
  expect(jobsIn(answers)).toEqual([]);
  expect(isTurn(answers)).toBe(true);
  expect(isTurn(await claimAs("a", world, null))).toBe(false);
});
