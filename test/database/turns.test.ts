import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

interface Answer {
  readonly id: string | null;
  readonly kind: string | null;
  readonly payload: unknown;
  readonly seq: string | null;
}

/** Somebody who claims and remembers the turn in which he left the bucket; -1 while he knows none. */
interface Claimer {
  readonly name: string;
  turn: bigint;
}

const claimer = (name: string): Claimer => ({ name, turn: -1n });

/** A claim of one key beyond a remembered seq, or of the whole bucket when none is given, as sent by somebody who knows this turn. */
async function sendClaim(
  { name, turn }: Claimer,
  world: World,
  floor: bigint | null,
): Promise<readonly Answer[]> {
  return await world.sql<Answer>(
    `select id, kind, payload, seq from leasehold.inbox_claim($1, array[leasehold.bucket_of('k', 360)], null, 10, 10, 10, 1,
       60000, null, null, $2::text[], $3::bigint[], array[$4::bigint])`,
    [name, floor === null ? null : ["k"], floor === null ? null : [floor.toString()], turn.toString()],
  );
}

async function claimAs(who: Claimer, world: World, floor: bigint | null): Promise<readonly Answer[]> {
  const answers = await sendClaim(who, world, floor);
  const seq = answers.find((answer) => answer.kind === "turn")?.seq;
  if (typeof seq === "string") who.turn = BigInt(seq);
  return answers;
}

const jobsIn = (answers: readonly Answer[]): unknown[] =>
  answers.filter((answer) => answer.id !== null).map((answer) => answer.payload);

const isTurn = (answers: readonly Answer[]): boolean => answers.some((answer) => answer.kind === "turn");

async function complete(world: World, name: string): Promise<void> {
  await world.sql(`delete from leasehold.inbox where claimed_by = $1`, [name]);
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
    `insert into leasehold.inbox (kind, payload, partition_key, max_attempts, seq) values ('w', '"late"', 'k', 12, $1)`,
    [(seq - 1n).toString()],
  );
}

test("a claimer who asks beyond what he remembers gets what is there", async () => {
  const world = await setup();
  const first = await twoRows(world);
  const a = claimer("a");
  expect(jobsIn(await claimAs(a, world, null))).toEqual(["first", "second"]);
  await complete(world, "a");
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  const answers = await claimAs(a, world, first + 1n);
  expect(jobsIn(answers)).toEqual(["third"]);
  expect(isTurn(answers)).toBe(false);
});

test("a row below what a claimer remembers, in process with somebody else, keeps him from the rest of its key", async () => {
  const world = await setup();
  const first = await twoRows(world);
  const [a, b] = [claimer("a"), claimer("b")];
  expect(jobsIn(await claimAs(a, world, null))).toHaveLength(2);
  await world.sql(`delete from leasehold.inbox where claimed_by = 'a' and seq = $1`, [first.toString()]);
  await world.sql(
    `update leasehold.inbox set status = 'pending', claimed_by = null, lease_expires_at = null, lease_generation = 0`,
  );
  await insertLate(world, first);
  await world.sql(`update leasehold.inbox set available_at = now() + interval '1 hour' where seq > $1`, [
    first.toString(),
  ]);
  expect(jobsIn(await claimAs(b, world, null))).toEqual(["late"]);
  await world.sql(`update leasehold.inbox set available_at = now() where status = 'pending'`);
  const answers = await claimAs(a, world, first);
  expect(jobsIn(answers)).toEqual([]);
  expect(isTurn(answers)).toBe(true);
  // To ask is not to take: the bucket stays the other's.
  expect(isTurn(await claimAs(b, world, null))).toBe(false);
});

test("who looks from the front hears that somebody else took rows, once, and sees what he has in process", async () => {
  const world = await setup();
  const first = await twoRows(world);
  const [a, b] = [claimer("a"), claimer("b")];
  expect(isTurn(await claimAs(a, world, null))).toBe(true);
  await complete(world, "a");
  await insertLate(world, first);
  expect(jobsIn(await claimAs(b, world, null))).toEqual(["late"]);
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  const answers = await claimAs(a, world, null);
  expect(jobsIn(answers)).toEqual([]);
  expect(isTurn(answers)).toBe(true);
  expect(isTurn(await claimAs(a, world, null))).toBe(false);
});

/** A has worked on both rows; then a late one appeared below them and is in process with B, and there is a third. */
async function lateRowElsewhere(
  world: World,
): Promise<{ readonly a: Claimer; readonly b: Claimer; readonly floor: bigint }> {
  const first = await twoRows(world);
  const [a, b] = [claimer("a"), claimer("b")];
  await claimAs(a, world, null);
  await complete(world, "a");
  await insertLate(world, first);
  expect(jobsIn(await claimAs(b, world, null))).toEqual(["late"]);
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  return { a, b, floor: first + 1n };
}

test("a claim that is sent again because its answer was lost does not make old memories good", async () => {
  const world = await setup();
  const { a, floor } = await lateRowElsewhere(world);
  const before = { ...a };
  await sendClaim(a, world, null);
  expect(isTurn(await claimAs(a, world, null))).toBe(true);
  expect(jobsIn(await sendClaim(before, world, floor))).toEqual([]);
  expect(jobsIn(await sendClaim({ ...a, turn: before.turn }, world, floor))).toEqual([]);
});

test("a statement that runs long after its claimer has given it up takes the bucket from him, too", async () => {
  const world = await setup();
  const first = await twoRows(world);
  const [a, b] = [claimer("a"), claimer("b")];
  const givenUp = { ...a };
  await claimAs(a, world, null);
  await complete(world, "a");
  await insertLate(world, first);
  expect(jobsIn(await claimAs(b, world, null))).toEqual(["late"]);
  await sendClaim(givenUp, world, null);
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  const answers = await claimAs(a, world, first + 1n);
  expect(jobsIn(answers)).toEqual([]);
  expect(isTurn(answers)).toBe(true);
});

test("who claims by hand and remembers nothing takes the bucket from those who do", async () => {
  const world = await setup();
  const first = await twoRows(world);
  const a = claimer("a");
  await claimAs(a, world, null);
  await complete(world, "a");
  await insertLate(world, first);
  const byHand = await (await world.lh.queue("inbox")).claim({ workerId: "hand" });
  expect(byHand.map((job) => job.payload)).toEqual(["late"]);
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key) values ('w', '"third"', 'k')`);
  expect(jobsIn(await claimAs(a, world, first + 1n))).toEqual([]);
});
