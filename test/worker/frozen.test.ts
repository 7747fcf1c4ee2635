import { execFileSync } from "node:child_process";
import { expect, inject, onTestFinished, test } from "vitest";
import type { WorkingJob } from "../../src/index.js";
import { openTransaction } from "../support/claims.js";
import { watchingProxy } from "../support/watching-proxy.js";
import { setup, type World } from "../support/world.js";
import { stored } from "./stored-jobs.js";
import { heard, startWorker, until } from "./worker-world.js";

/**
 * Runs statements in another process while this one stands still, as a process does that is frozen, swapped out or in a long
 * garbage collection. Other workers go on meanwhile; here the other process is one.
 */
function standStill(world: World, ms: number, statements: readonly string[]): void {
  const script = `
    import pg from "pg";
    const client = new pg.Client({ connectionString: ${JSON.stringify(world.url)} });
    await client.connect();
    await new Promise((resolve) => setTimeout(resolve, ${ms}));
    for (const text of ${JSON.stringify(statements.map((text) => text.replaceAll("leasehold.", `${world.schema}.`)))})
      await client.query(text);
    await client.end();`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
}

const everyBucket = "array(select generate_series(0, 359))";
/** The whole of what another worker does: it marks the silent one dead and claims in all buckets. */
const takeOver = [
  "update leasehold.workers set status = 'dead' where id = 'a'",
  `select * from leasehold.inbox_claim('b', ${everyBucket}, null, 100, 20, 100, 100, 60000, null, null)`,
];

test("a process that stood still for longer than its lease starts nothing it lost, and its outcome is refused", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const jobs = Array.from({ length: 6 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n % 3}` }));
  await inbox.enqueueMany(jobs);
  const lost = heard(world.lh, "lease:lost");
  const settled = heard(world.lh, "job:settled");
  const registered = heard(world.lh, "worker:registered");
  const started: unknown[] = [];
  const worker = await startWorker(
    world.lh,
    {
      k: (job: WorkingJob) => {
        started.push(job.payload);
        standStill(world, 900, takeOver);
      },
    },
    { concurrency: 1, leaseMs: 600 },
  );
  await until("it has found out", () => lost.length > 0 && worker.load.inHand === 0);
  expect(started).toHaveLength(1);
  expect(settled).toEqual([]);
  const owners = await world.sql<{ claimed_by: string; status: string; n: number }>(
    "select claimed_by, status, count(*)::int as n from leasehold.inbox group by 1, 2",
  );
  expect(owners).toEqual([{ claimed_by: "b", status: "processing", n: 6 }]);
  await until("it is a member again", () => registered.at(-1)!.generation > 1n);
  // And it works again.
  const { id } = await inbox.enqueue("k", 99, { partitionKey: "free" }).catch(() => ({ id: "" }));
  expect(id).not.toBe("");
}, 90_000);

test("a process that stood still while nobody took its rows over goes on with them", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const ids = (
    await inbox.enqueueMany([0, 1].map((payload) => ({ kind: "k", payload, partitionKey: "one" })))
  ).map((answer) => answer.id);
  const started: unknown[] = [];
  await startWorker(
    world.lh,
    {
      k: (job: WorkingJob) => {
        started.push(job.payload);
        if (job.payload === 0) standStill(world, 900, []);
      },
    },
    { leaseMs: 600 },
  );
  await until(
    "both are done",
    async () =>
      (await Promise.all(ids.map((id) => stored(world, id)))).every((row) => row.status === "completed"),
    20_000,
  );
  // Whether the second was renewed or given back and claimed again: it ran once, in order.
  expect(started).toEqual([0, 1]);
});

test("a worker whose heartbeat can't be written asks for nothing, and goes on when it can", async () => {
  const proxy = await watchingProxy(inject("databaseUrl"));
  onTestFinished(() => proxy.close());
  const world = await setup({
    workerId: "a",
    url: proxy.url,
    directUrl: inject("databaseUrl"),
    heartbeatMs: 300,
    ttlMs: 6_000, // Between nine tenths of it and the whole only the worker itself holds back; later the database refuses it too.
  });
  const inbox = await world.queue();
  await inbox.enqueueMany(Array.from({ length: 20_000 }, (_, n) => ({ kind: "k", payload: n })));
  const distrusted = heard(world.lh, "trust:lost");
  const work = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
  await startWorker(world.lh, { k: work }, { concurrency: 2 });
  const person = await openTransaction(world);
  await person.tx.query(`select 1 from ${world.schema}.workers for update`);
  await until("it does not trust itself any more", () => distrusted.length > 0);
  let hasAsked = false;
  proxy.before("claim_", () => {
    hasAsked = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(hasAsked).toBe(false);
  await person.commit();
  await until("it asks again", () => hasAsked);
});
