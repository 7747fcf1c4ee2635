import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/**
 * Found in a chaos run beside much load: a worker that was taken for dead completed the first row of its run and started the second, while a claim that took the run over still thought that the first one would pay.
 * The second row got its attempt back although it had been started.
 */
test("of a run that is taken over the first row that is still in process pays, also when an earlier one has been completed meanwhile", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", buckets: 1 });
  for (let n = 1; n <= 3; n++) await inbox.enqueue("work", n, { partitionKey: "k" });
  const jobs = await inbox.claim({ workerId: "a", limit: 3 });
  const ids = jobs.map((job) => job.id);
  await world.sql("insert into leasehold.workers (id, queues, status) values ('a', '{inbox}', 'dead')");
  // What the claim found, before the first row was completed.
  const first = jobs[0];
  if (first === undefined) throw new Error("nothing was claimed");
  expect(await inbox.complete(first)).toBe(true);
  await world.sql("select leasehold.inbox_recover($1, $2, 'b', null, '{a}', clock_timestamp())", [
    ids,
    [ids[0]],
  ]);
  const rows = await world.sql("select payload, status, attempts, crashes from leasehold.inbox order by seq");
  expect(rows).toEqual([
    { payload: 2, status: "pending", attempts: 1, crashes: 1 },
    { payload: 3, status: "pending", attempts: 0, crashes: 0 },
  ]);
});
