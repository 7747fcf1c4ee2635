import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** discard({ status: "dead_letter" }) took out a job that another operator had just redriven: the status was not tested again when the row was locked. */

async function deadLetter(world: World): Promise<string> {
  const queue = await world.lh.queue("mail", { order: "key" });
  const { id } = await queue.enqueue("send", 1, { maxAttempts: 1 });
  const [job] = await queue.claim({ workerId: "w" });
  await queue.fail(job!, new Error("no"));
  return id;
}

/** Does the second act while the first one holds the row, and ends the first when the second waits for it. */
async function meanwhile<T>(world: World, sql: string, values: unknown[], act: () => Promise<T>): Promise<T> {
  const other = await world.client();
  await other.query("begin");
  const { rowCount } = await other.query(sql.replaceAll("leasehold.", `${world.schema}.`), values);
  expect(rowCount).toBe(1);
  const acted = act();
  const pid = (other as unknown as { processID: number }).processID;
  const waiting = () =>
    world.sql("select 1 from pg_locks where not granted and pg_blocking_pids(pid) @> array[$1::int]", [pid]);
  await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
  await other.query("commit");
  return await acted;
}

test("a discard of dead letters leaves one that was redriven meanwhile", async () => {
  const world = await setup();
  const id = await deadLetter(world);
  const queue = await world.lh.queue("mail");
  const redriven = "update leasehold.mail set status = 'pending', finished_at = null where id = $1";
  expect(await meanwhile(world, redriven, [id], () => queue.discard({ status: "dead_letter" }))).toBe(0);
  expect(await queue.get(id)).toMatchObject({ status: "pending" });
  // With its id and no status it is meant in every state.
  expect(await queue.discard({ ids: [id] })).toBe(1);
});

test("a redrive of rows in backoff leaves one that became a dead letter meanwhile", async () => {
  const world = await setup();
  const queue = await world.lh.queue("mail", { order: "key" });
  const { id } = await queue.enqueue("send", 1);
  await world.sql("update leasehold.mail set available_at = now() + interval '1 hour' where id = $1", [id]);
  const buried = "update leasehold.mail set status = 'dead_letter', finished_at = now() where id = $1";
  expect(await meanwhile(world, buried, [id], () => queue.retry({ status: "pending" }))).toBe(0);
  expect(await queue.get(id)).toMatchObject({ status: "dead_letter" });
  expect(await queue.retry({ status: "dead_letter" })).toBe(1);
});

test("a redrive of rows in backoff takes none from the archive", async () => {
  const world = await setup();
  const id = await deadLetter(world);
  const queue = await world.lh.queue("mail");
  await world.sql("update leasehold.mail set finished_at = now() - interval '31 days' where id = $1", [id]);
  await world.lh.housekeep();
  expect(await world.sql("select id from leasehold.mail_archive")).toEqual([{ id }]);
  expect(await queue.retry({ ids: [id], status: "pending" })).toBe(0);
  await world.sql("select leasehold.mail_redrive(array[$1::uuid], array['pending'], gen_random_uuid())", [
    id,
  ]);
  expect(await world.sql("select id from leasehold.mail_archive")).toEqual([{ id }]);
  expect(await queue.retry({ ids: [id] })).toBe(1);
});
