import { expect, onTestFinished, test } from "vitest";
import { connect, type Queue } from "../../src/index.js";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { isLong } from "../support/length.js";
import { seeded, setup, type World } from "../support/world.js";

const cutsEach = isLong ? 200 : 15;

async function throughProxy(options: { retentionMs?: number; maxCrashes?: number } = {}) {
  const world = await setup();
  await world.queue("inbox", { order: "key", ...options });
  const proxy = await cuttingProxy(world.url);
  const lh = await connect({ url: proxy.url, schema: world.schema, logger: false, connectionsMax: 4 });
  onTestFinished(async () => {
    await lh.close();
    await proxy.close();
  });
  return { world, proxy, lh, inbox: await lh.queue("inbox") };
}

const moments = ["before", "after"] as const;

test.each([
  { name: "an archive", retentionMs: 604_800_000 },
  { name: "no archive", retentionMs: 0 },
])(
  "enqueue with $name: no cut around its commit loses or doubles a job, even when it has run meanwhile",
  async ({ retentionMs }) => {
    const { world, proxy, inbox } = await throughProxy({ retentionMs });
    const direct = await world.lh.queue("inbox");
    const ids = new Set<string>();
    const ran: string[] = [];
    for (let i = 0; i < cutsEach; i++) {
      for (const when of moments) {
        proxy.arm(when, "enqueue_jobs");
        const key = i % 3 === 0 ? { idempotencyKey: `${when}-${i}` } : {};
        const enqueued = inbox.enqueue("s", i, key);
        // A worker elsewhere takes the row and finishes it before the enqueue is sent again.
        if (when === "after") ran.push(...(await drain(direct)));
        const { id, duplicate } = await enqueued;
        expect(duplicate).toBe(false);
        ids.add(id);
        ran.push(...(await drain(direct)));
      }
    }
    expect(proxy.cuts).toEqual({ before: cutsEach, after: cutsEach });
    expect(ids.size).toBe(cutsEach * 2);
    expect(ran.toSorted()).toEqual([...ids].toSorted());
  },
  240_000,
);

test("retry and discard: no cut around their commit changes the number, redrives a row twice or ends them early", async () => {
  const { world, proxy, inbox } = await throughProxy();
  const direct = await world.lh.queue("inbox");
  await direct.enqueueMany(Array.from({ length: 10 }, (_, i) => ({ kind: "s", payload: i })));
  const places = async () =>
    (await world.sql<{ seq: string }>("select seq from leasehold.inbox order by payload")).map(
      (row) => row.seq,
    );
  for (let i = 0; i < cutsEach; i++) {
    for (const when of moments) {
      await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now()");
      const before = await places();
      proxy.arm(when, "redrive_jobs");
      expect(await inbox.retry(), `round ${i}, cut ${when}`).toBe(10);
      // One place marks the end of the set, then one for each row.
      expect(await places()).toEqual(before.map((seq) => `${BigInt(seq) + 11n}`));
    }
  }
  for (const when of moments) {
    proxy.arm(when, "discard_jobs");
    expect(await inbox.discard({ status: "pending", limit: 5 })).toBe(5);
  }
  expect(proxy.cuts).toEqual({ before: cutsEach + 1, after: cutsEach + 1 });
  expect(await direct.list({ status: "discarded" })).toHaveLength(10);
});

test("claim: no cut around its commit loses a row or leaves it with two holders", async () => {
  const { world, proxy, inbox } = await throughProxy({ maxCrashes: 500 });
  const random = seeded(3);
  await world.lh.queue("inbox").then((queue) =>
    queue.enqueueMany(
      Array.from({ length: cutsEach * 2 }, (_, i) => ({
        kind: "s",
        payload: i,
        partitionKey: `k${i % 50}`,
        maxAttempts: 500,
      })),
    ),
  );
  const known = new Map<string, bigint>();
  for (let i = 0; i < cutsEach; i++) {
    for (const when of moments) {
      proxy.arm(when, "claim_jobs");
      const jobs = await inbox.claim({
        workerId: "w",
        limit: 3,
        suspects: 3,
        knownTokens: [...known.values()],
      });
      for (const job of jobs) {
        expect(known.has(job.id)).toBe(false);
        known.set(job.id, job.fenceToken);
      }
      for (const job of jobs) {
        known.delete(job.id);
        if (random() < 0.1) await inbox.release(job);
        else await inbox.complete(job);
      }
    }
  }
  expect(proxy.cuts.before + proxy.cuts.after).toBe(cutsEach * 2);
  await drain(await world.lh.queue("inbox"), "w", []);
  const [left] = await world.sql<{ n: number }>("select count(*)::int as n from leasehold.inbox");
  const [kept] = await world.sql<{ n: number; ids: number }>(
    "select count(*)::int as n, count(distinct id)::int as ids from leasehold.inbox_archive",
  );
  expect({ left: left?.n, kept }).toEqual({ left: 0, kept: { n: cutsEach * 2, ids: cutsEach * 2 } });
}, 240_000);

test("settle: no cut around its commit loses an outcome or applies it twice, and the answer is the true one", async () => {
  const { world, proxy, inbox } = await throughProxy();
  const direct = await world.lh.queue("inbox");
  for (let i = 0; i < cutsEach; i++) {
    for (const when of moments) {
      const { id } = await direct.enqueue("s", i);
      const [job] = await direct.claim({ workerId: "w", limit: 1 });
      expect(job?.id).toBe(id);
      proxy.arm(when, "settle_jobs");
      if (i % 3 === 0) {
        expect(await inbox.complete(job!)).toBe(true);
        expect((await direct.get(id))?.status).toBe("completed");
      } else if (i % 3 === 1) {
        expect(await inbox.fail(job!, new Error("no"))).toBe(true);
        expect(await direct.get(id)).toMatchObject({
          status: "pending",
          attempts: 1,
          errors: [{ attempt: 1 }],
        });
        await direct.discard({ ids: [id] });
      } else {
        expect(await inbox.release(job!)).toBe(true);
        expect(await direct.get(id)).toMatchObject({ status: "pending", attempts: 0, errors: [] });
        await direct.discard({ ids: [id] });
      }
      expect(proxy.isArmed()).toBe(false);
    }
  }
  expect(proxy.cuts).toEqual({ before: cutsEach, after: cutsEach });
  await expectNothingLeft(world);
}, 240_000);

async function expectNothingLeft(world: World): Promise<void> {
  expect(await world.sql("select id, status from leasehold.inbox")).toEqual([]);
}

async function drain(queue: Queue, workerId = "direct", knownTokens?: bigint[]): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const jobs = await queue.claim({
      workerId,
      limit: 100,
      suspects: 100,
      ...(knownTokens === undefined ? {} : { knownTokens }),
    });
    if (jobs.length === 0) return ids;
    for (const job of jobs) if (await queue.complete(job)) ids.push(job.id);
  }
}
