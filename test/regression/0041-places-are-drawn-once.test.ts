import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";
import { until } from "../worker/worker-world.js";

async function untilWaiting(world: World): Promise<void> {
  await until(
    "the redrive waits for the row",
    async () =>
      (
        await world.sql(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%_redrive%' and query like $1",
          [`%${world.schema}%`],
        )
      ).length > 0,
  );
}

async function inOrderOfPlaces(world: World): Promise<unknown[]> {
  const rows = await world.sql<{ payload: unknown }>("select payload from leasehold.inbox order by seq");
  return rows.map((row) => row.payload);
}

/** A statement that locks rows and draws their places may be evaluated again on a version that is newer than its snapshot. */
test("dead letters keep their order when one of them is changed while a redrive waits for it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueueMany([1, 2, 3, 4].map((n) => ({ kind: "k", payload: n, partitionKey: "order:9182" })));
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now(), attempts = 5");
  const other = await world.client();
  await other.query("begin");
  await other.query(`update ${world.schema}.inbox set last_error = 'seen' where payload in ('1', '3')`);
  const redriven = inbox.retry();
  await untilWaiting(world);
  await other.query("commit");
  expect(await redriven).toBe(4);
  expect(await inOrderOfPlaces(world)).toEqual([1, 2, 3, 4]);
  const [drawn] = await world.sql<{ n: string }>("select last_value as n from leasehold.inbox_seq");
  // Four at the enqueue, one that marks the end of the set, four for the redriven.
  expect(drawn!.n).toBe("9");
});
