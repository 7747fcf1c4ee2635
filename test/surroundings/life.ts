import { expect } from "vitest";
import {
  type ClaimedJob,
  deadLetter,
  type Leasehold,
  type Queue,
  type QueueOptions,
  retryAfter,
} from "../../src/index.js";
import type { World } from "../support/world.js";
import { gate, heard, startWorker, until } from "../worker/worker-world.js";

/** Who does what in the life of a job: one connection for all, or one for each role. */
export interface Parties {
  readonly producer: Leasehold;
  readonly worker: Leasehold;
  readonly operator: Leasehold;
  readonly viewer: Leasehold;
}

export function allAs(lh: Leasehold): Parties {
  return { producer: lh, worker: lh, operator: lh, viewer: lh };
}

interface Stage {
  readonly world: Pick<World, "sql">;
  readonly parties: Parties;
  readonly queue: string;
  /** The table that handlers write to. */
  readonly effects: string;
}

/** Encodings, dates, floats and backslashes that a setting of the server could change on the way. */
const payload = {
  name: "Zoë €5 \u{1f9fe}",
  quote: `'"\\n\\\\`,
  at: "2026-02-03T04:05:06.789Z",
  float: 0.1 + 0.2,
  list: [1e21, -1.5, null],
};

/**
 * The main life of a job, in an ordered queue and in one without order: enqueue, claim by hand, fail, retry, complete, complete in a transaction, dead letter
 * and redrive, the same by a worker, drain, housekeeping. Every step is asserted.
 */
export async function live(
  world: Pick<World, "sql" | "schema" | "lh">,
  parties: Parties = allAs(world.lh),
  options: Omit<QueueOptions, "order"> = {},
): Promise<void> {
  for (const order of ["key", "none"] as const) {
    const stage = { world, parties, ...(await setUp(world, order, options)) };
    await handLife(stage);
    await workerLife(stage);
  }
  await until("housekeeping is done", async () => (await parties.worker.housekeep()).elected);
  expect((await parties.viewer.audit()).breaches).toEqual([]);
}

/** The queues of a life and the tables that its handlers write to, also for a copy that is kept equal. */
export async function setUp(
  world: Pick<World, "sql" | "schema" | "lh">,
  order: "key" | "none",
  options: Omit<QueueOptions, "order"> = {},
): Promise<{ readonly queue: string; readonly effects: string }> {
  const queue = `by_${order}`;
  const effects = `${world.schema}.effects_${order}`;
  await world.lh.queue(queue, { order, ...options });
  await world.sql(`create table if not exists ${effects} (id uuid primary key)`);
  await world.sql(`grant insert on ${effects} to public`);
  return { queue, effects };
}

/** Without a worker: every verb once. */
async function handLife({ parties, queue, ...stage }: Stage): Promise<void> {
  const [producer, worker, operator, viewer] = await Promise.all(
    [parties.producer, parties.worker, parties.operator, parties.viewer].map((lh) => lh.queue(queue)),
  );
  if (!producer || !worker || !operator || !viewer) throw new Error("four connections were to be opened");
  const from = await databaseMs(stage.world);
  const { id } = await producer.enqueue("hand", payload, { partitionKey: "é", idempotencyKey: "one" });
  expect(await producer.enqueue("hand", 0, { idempotencyKey: "one" })).toMatchObject({ id, duplicate: true });
  const first = await claimOne(worker);
  expect(first).toMatchObject({ id, attempt: 1, payload, partitionKey: "é" });
  expect(first.createdAt.getTime()).toBeGreaterThanOrEqual(from - 1);
  expect(first.createdAt.getTime()).toBeLessThanOrEqual((await databaseMs(stage.world)) + 1);
  expect(first.leaseExpiresAt.getTime()).toBeGreaterThan(from);
  expect(await worker.renew(first)).toMatchObject({ state: "renewed" });
  expect(await worker.fail(first, retryAfter(0))).toBe(true);

  const second = await claimOne(worker);
  expect(second).toMatchObject({ id, attempt: 2, payload });
  expect(second.fenceToken).toBeGreaterThan(first.fenceToken);
  expect(await worker.complete(first)).toBe(false);
  expect(await worker.complete(second)).toBe(true);
  expect(await viewer.get(id)).toMatchObject({ status: "completed", attempts: 2, payload });

  const { id: written } = await parties.producer.transaction((tx) =>
    producer.enqueue("hand", 2, { partitionKey: "é", tx }),
  );
  const within = await claimOne(worker);
  await within.transaction((tx) => tx.query(`insert into ${stage.effects} values ($1)`, [within.id]));
  expect(await stage.world.sql(`select id from ${stage.effects}`)).toEqual([{ id: written }]);

  const [poison] = await producer.enqueueMany([
    { kind: "hand", payload: 3, maxAttempts: 1, partitionKey: "é" },
  ]);
  expect(await worker.fail(await claimOne(worker), new Error("no"))).toBe(true);
  expect(await viewer.list({ status: "dead_letter" })).toMatchObject([{ id: poison?.id, attempts: 1 }]);
  expect((await viewer.why(poison?.id ?? "")).reason).toBe("dead_letter");
  expect(await operator.retry({ status: "dead_letter" })).toBe(1);
  expect(await worker.release(await claimOne(worker))).toBe(true);
  expect(await worker.complete(await claimOne(worker))).toBe(true);
  expect(await viewer.list()).toEqual([]);
}

/** A row that another claim has just locked is found by the next one. */
async function claimOne(queue: Queue): Promise<ClaimedJob> {
  let found: ClaimedJob | undefined;
  await until("a job is claimed", async () => {
    const [job, ...others] = await queue.claim({ workerId: "by-hand" });
    expect(others).toEqual([]);
    found = job;
    return job !== undefined;
  });
  return found as ClaimedJob;
}

/** By a worker that fails, gives up, writes in a transaction, and is drained under a running handler. */
async function workerLife({ world, parties, queue, effects }: Stage): Promise<void> {
  const [producer, operator, viewer] = await Promise.all(
    [parties.producer, parties.operator, parties.viewer].map((lh) => lh.queue(queue)),
  );
  if (!producer || !operator || !viewer) throw new Error("three connections were to be opened");
  const troubles = troubleEvents.map((name) => heard(parties.worker, name));
  const held = gate();
  let isCured = false;
  let isHeld = false;
  const handlers = {
    plain: () => {},
    flaky: ({ attempt }: { attempt: number }) => {
      if (attempt === 1) throw retryAfter(0);
    },
    written: async (job: ClaimedJob) =>
      void (await job.transaction((tx) => tx.query(`insert into ${effects} values ($1)`, [job.id]))),
    poison: () => {
      if (!isCured) throw deadLetter("not yet");
    },
    slow: async () => {
      isHeld = true;
      await held.passed;
    },
  };
  const isDone = (ids: readonly string[]) => async (): Promise<boolean> => {
    const done = await viewer.list({ status: "completed", limit: 100 });
    return ids.every((id) => done.some((job) => job.id === id));
  };
  const enqueue = async (...kinds: (keyof typeof handlers)[]): Promise<string[]> =>
    (
      await producer.enqueueMany(
        kinds.map((kind, n) => ({ kind, payload: { n, payload }, partitionKey: `k${n % 3}` })),
      )
    ).map(({ id }) => id);

  const before = await enqueue("plain", "flaky", "written", "plain", "written", "flaky");
  const worker = await startWorker(parties.worker, handlers, { queue, drainLimitMs: 60_000 });
  await until("jobs from before are done", isDone(before));
  const [dead = "", ...after] = await enqueue("poison", "plain", "flaky");
  await until("jobs from after are done", isDone(after));
  await until("the poison job is a dead letter", async () =>
    (await viewer.list({ status: "dead_letter" })).some(({ id }) => id === dead),
  );
  isCured = true;
  expect(await operator.retry({ ids: [dead] })).toBe(1);
  await until("the redriven job is done", isDone([dead]));
  const rows = await world.sql(`select id from ${effects}`);
  expect(rows).toEqual(expect.arrayContaining([{ id: before[2] }, { id: before[4] }]));
  expect(rows).toHaveLength(3);

  const [slow = ""] = await enqueue("slow");
  await until("the slow job runs", () => isHeld);
  const stopped = worker.stop();
  const left = await enqueue("plain");
  held.open();
  await stopped;
  expect(await viewer.get(slow)).toMatchObject({ status: "completed", attempts: 1 });
  expect(await viewer.list()).toMatchObject(left.map((id) => ({ id, status: "pending", attempts: 0 })));
  const next = await startWorker(parties.worker, handlers, { queue });
  await until("what was left is done", isDone(left));
  await next.stop();
  expect(await viewer.stats()).toMatchObject({ pending: 0, processing: 0, deadLetter: 0 });
  expect(troubles.flat()).toEqual([]);
}

/** What a worker gets over by itself, and must not have to. */
const troubleEvents = [
  "activity:failed",
  "settle:failed",
  "worker:failing",
  "session:lost",
  "database:lost",
  "archive:strayed",
] as const;

async function databaseMs(world: Pick<World, "sql">): Promise<number> {
  const [row] = await world.sql<{ ms: string }>(
    "select (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint::text as ms",
  );
  return Number(row?.ms);
}
