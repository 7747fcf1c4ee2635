import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup, type World } from "../support/world.js";

/** Claims of a connection named `slow` stop at a gate between their look and their write: in inbox_note_taken. */
async function gateBeforeTheWrite(world: World): Promise<{ readonly pid: number; open(): Promise<void> }> {
  await world.sql("create table leasehold.gate ()");
  await world.sql(`create or replace function leasehold.inbox_note_taken(p_buckets int[], p_taken_to bigint[]) returns void
    language plpgsql as $$
    begin
      if current_setting('application_name') = 'slow' then perform 1 from leasehold.gate; end if;
    end $$`);
  const keeper = await openTransaction(world);
  await keeper.tx.query(`lock table ${world.schema}.gate in access exclusive mode`);
  return { pid: keeper.pid, open: () => keeper.rollback() };
}

async function slowClaim(world: World): Promise<readonly unknown[]> {
  const url = new URL(world.url);
  url.searchParams.set("application_name", "slow");
  const slow = await world.connect({ url: url.href });
  const jobs = await (await slow.queue("inbox")).claim({ workerId: "slow", limit: 5, run: 5 });
  return jobs.map((job) => job.payload);
}

test("a row that a person puts off while it is being claimed keeps back the rows behind it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 40 }, (_, n) => ({ kind: "step", payload: n, partitionKey: "order:9182" })),
  );
  const first = await inbox.claim({ workerId: "a", limit: 5, run: 5 });
  await inbox.settle(first.map((job) => ({ job, outcome: { is: "complete" } })));
  const gate = await gateBeforeTheWrite(world);
  const claiming = slowClaim(world);
  await untilBlockedBy(world, gate.pid);
  await world.sql("update leasehold.inbox set available_at = now() + interval '1 hour' where payload = '6'");
  await gate.open();
  expect(await claiming).toEqual([5]);
});

test("a claim does not wait for a person who locks one of its rows in the moment before its write", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 40 }, (_, n) => ({ kind: "step", payload: n, partitionKey: "order:9182" })),
  );
  const first = await inbox.claim({ workerId: "a", limit: 5, run: 5 });
  await inbox.settle(first.map((job) => ({ job, outcome: { is: "complete" } })));
  const gate = await gateBeforeTheWrite(world);
  const claiming = slowClaim(world);
  await untilBlockedBy(world, gate.pid);
  const person = await world.client();
  await person.query("begin");
  await person.query(`select 1 from ${world.schema}.inbox where payload = '6' for update`);
  await gate.open();
  // It gives up, looks again, and sees that the row is locked.
  expect(await claiming).toEqual([5]);
  await person.query("rollback");
});
