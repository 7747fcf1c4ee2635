import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A queue that was opened anew for each claim looked at the first 500 keys, always the same ones. */
test("claims that remember nothing find the healthy keys behind thousands of blocked ones", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key, status, attempts, available_at)
    select 'k', '1', 'a' || n, case when n % 2 = 0 then 'dead_letter' else 'pending' end, 5, now() + interval '1 day' from generate_series(1, 3600) n`);
  await inbox.enqueueMany(
    Array.from({ length: 50 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `z${n}` })),
  );
  const seen = new Set<unknown>();
  for (let invocation = 0; invocation < 50 && seen.size < 50; invocation++) {
    const fresh = await world.lh.queue("inbox");
    const jobs = await fresh.claim({ workerId: "lambda", limit: 10 });
    expect(jobs.length).toBeGreaterThan(0);
    for (const job of jobs) seen.add(job.payload);
    await fresh.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
  }
  expect(seen.size).toBe(50);
});

test("more blocked keys than one call looks at are passed within a few calls", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", buckets: 4 });
  await world.sql(`insert into leasehold.inbox (kind, payload, partition_key, attempts, available_at)
    select 'k', '1', 'a' || n, 1, now() + interval '1 day' from generate_series(1, 25000) n`);
  await inbox.enqueue("k", "healthy", { partitionKey: "z" });
  let calls = 0;
  let found = false;
  while (!found && calls < 5) {
    calls++;
    const fresh = await world.lh.queue("inbox");
    found = (await fresh.claim({ workerId: "lambda" })).length > 0;
  }
  expect(found).toBe(true);
});

test("keys that always have more do not keep the others from their turn", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", buckets: 1 });
  const fill = (key: string) =>
    inbox.enqueueMany(Array.from({ length: 30 }, () => ({ kind: "k", payload: key, partitionKey: key })));
  for (const key of ["a", "b", "c", "z"]) await fill(key);
  const seen = new Set<unknown>();
  for (let invocation = 0; invocation < 8; invocation++) {
    const fresh = await world.lh.queue("inbox");
    const jobs = await fresh.claim({ workerId: "lambda", limit: 5, run: 5 });
    for (const job of jobs) seen.add(job.payload);
    await fresh.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })));
  }
  expect([...seen].sort()).toEqual(["a", "b", "c", "z"]);
});
