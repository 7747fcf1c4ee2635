import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup, type World } from "../support/world.js";

/** A claim of worker `slow` stops between its look at who is dead and its look at the rows. */
async function gateBeforeTheRows(world: World): Promise<{ readonly pid: number; open(): Promise<void> }> {
  const signature =
    "p_buckets int[], p_after text[], p_share int, p_limit int, p_worker text, p_known bigint[], p_kinds text[], p_dead text[], p_now timestamptz";
  await world.sql("create table leasehold.gate ()");
  await world.sql("alter function leasehold.inbox_pick rename to inbox_pick_rows");
  await world.sql(`create function leasehold.inbox_pick(${signature})
    returns table (bucket int, tid tid, id uuid, attempts int, crashes int, bytes int, is_lost boolean) language plpgsql set lock_timeout = 0 as $$
    begin
      if p_worker = 'slow' then perform 1 from leasehold.gate; end if;
      return query select * from leasehold.inbox_pick_rows(p_buckets, p_after, p_share, p_limit, p_worker, p_known, p_kinds, p_dead, p_now);
    end $$`);
  const keeper = await openTransaction(world);
  await keeper.tx.query(`lock table ${world.schema}.gate in access exclusive mode`);
  return { pid: keeper.pid, open: () => keeper.rollback() };
}

/** Who is dead was read once at the beginning of a claim, and without order nothing keeps others from claiming meanwhile. */
test("a worker that was marked dead, came back and claimed a row is not robbed of it by a claim that began before", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none", buckets: 1 });
  const { id } = await inbox.enqueue("work", 1);
  await world.sql("insert into leasehold.workers (id, status) values ('back', 'dead')");
  const gate = await gateBeforeTheRows(world);
  const claim = (worker: string): Promise<{ id: string }[]> =>
    world.sql(
      `select id from leasehold.inbox_claim('${worker}', array[0], null, 5, 5, 5, 1, 60000, null, null) where id is not null`,
    );
  const slow = claim("slow");
  await untilBlockedBy(world, gate.pid);
  await world.sql("update leasehold.workers set status = 'alive', generation = 2");
  expect(await claim("back")).toEqual([{ id }]);
  await gate.open();
  expect(await slow).toEqual([]);
  expect(await world.sql("select claimed_by, crashes from leasehold.inbox")).toEqual([
    { claimed_by: "back", crashes: 0 },
  ]);
});
