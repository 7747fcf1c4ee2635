import { describe, expect, test } from "vitest";
import type { ClaimedJob, Queue } from "../../src/index.js";
import { drain, openQueues, openTransaction, untilBlockedBy } from "../support/claims.js";
import { seeded, setup, type World } from "../support/world.js";

const payloads = (jobs: readonly ClaimedJob[]) => jobs.map((job) => job.payload);
const order = { partitionKey: "order:9182" };
const keys = ["order:1", "order:2", "order:3", "order:4", "order:5"];

describe("with strict, the order of a key is the order of its commits", () => {
  test("a second transaction of the key waits at its enqueue until the first has committed", async () => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", strict: true });
    const a = await openTransaction(world);
    const b = await openTransaction(world);
    await inbox.enqueue("step", "a", { ...order, tx: a.tx });
    let isWaiting = true;
    const enqueued = inbox.enqueue("step", "b", { ...order, tx: b.tx }).finally(() => {
      isWaiting = false;
    });
    expect(await untilBlockedBy(world, a.pid)).toEqual(["advisory"]);
    await inbox.enqueue("step", "elsewhere", { partitionKey: "order:2" });
    expect(payloads(await inbox.claim({ workerId: "w1" }))).toEqual(["elsewhere"]);
    expect(isWaiting).toBe(true);

    await a.commit();
    await enqueued;
    expect(payloads(await inbox.claim({ workerId: "w1", limit: 1 }))).toEqual(["a"]);
    await b.commit();
    expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
    const rows = await world.sql(
      "select payload from leasehold.inbox where partition_key = 'order:9182' order by seq",
    );
    expect(rows).toEqual([{ payload: "a" }, { payload: "b" }]);
  });

  test("when the first rolls back, the second goes on alone", async () => {
    const world = await setup();
    const [here, there] = await openQueues(world, 2, { order: "key", strict: true });
    const a = await openTransaction(world);
    await here!.enqueue("step", "a", { ...order, tx: a.tx });
    const enqueued = there!.enqueue("step", "b", order);
    await untilBlockedBy(world, a.pid);
    await a.rollback();
    await enqueued;
    expect(payloads(await there!.claim({ workerId: "w1" }))).toEqual(["b"]);
  });

  test("claims made all the while follow the commits of 320 transactions on 8 connections", async () => {
    const world = await setup();
    const [inbox, claimer] = await openQueues(world, 2, { order: "key", strict: true });
    await world.sql("create table leasehold.commits (place bigserial, key text, n text)");
    let areProducing = true;
    const producers = Promise.all(Array.from({ length: 8 }, (_, n) => produce(world, inbox!, n))).finally(
      () => {
        areProducing = false;
      },
    );
    const claimed: ClaimedJob[] = [];
    const random = seeded(7);
    for (let isOver = false; !isOver; ) {
      isOver = !areProducing;
      const jobs = await claimer!.claim({ workerId: "w1", limit: 1 + Math.floor(random() * 30) });
      for (const job of jobs) await claimer!.complete(job);
      claimed.push(...jobs);
      isOver &&= jobs.length === 0;
    }
    await producers;

    const commits = await world.sql<{ key: string; n: string }>(
      "select key, n from leasehold.commits order by place",
    );
    expect(claimed).toHaveLength(commits.length);
    for (const key of keys) {
      const expected = commits.filter((commit) => commit.key === key).map((commit) => commit.n);
      expect(expected.length).toBeGreaterThan(20);
      const ofKey = claimed.filter((job) => job.partitionKey === key);
      expect(payloads(ofKey)).toEqual(expected);
      expect(ofKey.every((job, i) => i === 0 || job.seq > ofKey[i - 1]!.seq)).toBe(true);
    }
  });
});

/**
 * 40 transactions, each with one enqueue of one to three rows. Each notes its rows in a log after the enqueue: the slots of its keys
 * are held until the commit, so the log's order within a key is the order of the commits. Some roll back.
 */
async function produce(world: World, inbox: Queue, producer: number): Promise<void> {
  const random = seeded(1_000 + producer);
  const client = await world.client();
  const tx = { query: (text: string, values?: unknown[]) => client.query(text, values) };
  for (let n = 0; n < 40; n++) {
    await client.query("begin");
    const jobs = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => ({
      kind: "step",
      payload: `${producer}-${n}-${i}`,
      partitionKey: keys[Math.floor(random() * keys.length)]!,
    }));
    await inbox.enqueueMany(jobs, { tx });
    for (let pauses = Math.floor(random() * 5); pauses > 0; pauses--) await client.query("select 1");
    for (const job of jobs) {
      const note = `insert into ${world.schema}.commits (key, n) values ($1, $2)`;
      await client.query(note, [job.partitionKey, job.payload]);
    }
    await client.query(random() < 0.15 ? "rollback" : "commit");
  }
}

describe("without strict, a row that commits late runs later, and never beside another of its key", () => {
  test("a later row may be claimed first; the late one comes next, when that one has finished", async () => {
    const world = await setup();
    const [here, there] = await openQueues(world, 2);
    const a = await openTransaction(world);
    await here!.enqueue("step", "a", { ...order, tx: a.tx });
    await there!.enqueue("step", "b", order);
    await there!.enqueue("step", "c", order);
    const [b] = await there!.claim({ workerId: "w1", limit: 1 });
    expect(b).toMatchObject({ payload: "b" });

    await a.commit();
    expect(await here!.claim({ workerId: "w2" })).toEqual([]);
    expect(await there!.complete(b!)).toBe(true);
    const [first, second] = await here!.claim({ workerId: "w2" });
    expect([first?.payload, second?.payload]).toEqual(["a", "c"]);
    expect(first!.seq).toBeLessThan(b!.seq);
    expect(first!.fenceToken).toBeGreaterThan(b!.fenceToken);
  });

  test("more late rows than a claim looks at do not hide the row in process behind them", async () => {
    const world = await setup();
    const [here, there] = await openQueues(world, 2);
    const a = await openTransaction(world);
    const late = Array.from({ length: 60 }, (_, n) => ({ kind: "step", payload: n, ...order }));
    await here!.enqueueMany(late, { tx: a.tx });
    await there!.enqueue("step", "b", order);
    const [b] = await there!.claim({ workerId: "w1" });
    await a.commit();
    for (const run of [1, 5, 20]) expect(await here!.claim({ workerId: "w2", run })).toEqual([]);
    expect(await there!.complete(b!)).toBe(true);
    expect(payloads(await here!.claim({ workerId: "w2", run: 5 }))).toEqual([0, 1, 2, 3, 4]);
    expect(await there!.claim({ workerId: "w1" })).toEqual([]);
  });

  test("six claimers never hold rows of one key at once, however late its rows commit", async () => {
    const world = await setup();
    const queues = await openQueues(world, 6, { order: "key", buckets: 2, retentionMs: 0 });
    const producers = Array.from({ length: 6 }, (_, n) => produceLate(world, queues[n]!, n));
    const holders = new Map<string, number>();
    const overlaps: string[] = [];
    const random = seeded(11);
    const work = async (jobs: readonly ClaimedJob[], claimer: number): Promise<void> => {
      const held = new Set(jobs.map((job) => job.partitionKey));
      for (const key of held) {
        if (holders.has(key)) overlaps.push(`${key} on w${holders.get(key)} and w${claimer}`);
        holders.set(key, claimer);
      }
      await world.sql("select 1");
      for (const key of held) holders.delete(key);
    };
    const claim = () => ({ limit: 1 + Math.floor(random() * 4) });
    await Promise.all([...producers, drain(queues, { rows: 6 * 200, claim, work })]);
    expect(overlaps).toEqual([]);
    expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
  });
});

/** 100 transactions of two rows, which commit sooner or later after they drew their places. */
async function produceLate(world: World, inbox: Queue, producer: number): Promise<void> {
  const random = seeded(2_000 + producer);
  const client = await world.client();
  const tx = { query: (text: string, values?: unknown[]) => client.query(text, values) };
  for (let n = 0; n < 100; n++) {
    await client.query("begin");
    for (const payload of [1, 2]) {
      const partitionKey = keys[Math.floor(random() * keys.length)]!;
      await inbox.enqueue("step", payload, { partitionKey, tx });
      for (let pauses = Math.floor(random() * 6); pauses > 0; pauses--) await client.query("select 1");
    }
    await client.query("commit");
  }
}
