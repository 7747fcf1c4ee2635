import { expect, test } from "vitest";
import type { Leasehold, WorkingJob } from "../../src/index.js";
import { heldClock, withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { stored, untilEmpty, untilStatus } from "./stored-jobs.js";
import { gate, heard, startWorker, until } from "./worker-world.js";

const handlers = { k: () => {} };

const rows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n}` }));

async function row(lh: Leasehold, id: string) {
  return (await lh.workers()).find((worker) => worker.id === id);
}

async function shares(lh: Leasehold): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const owner of (await lh.ring("inbox")).owners)
    counts[owner ?? "nobody"] = (counts[owner ?? "nobody"] ?? 0) + 1;
  return counts;
}

/** A worker of which nothing was seen for long, without a session, and a job that it holds. */
async function addSilent(world: World, seenSecondsAgo: number): Promise<string> {
  await world.sql(
    `insert into leasehold.workers (id, queues, last_seen_at) values ('silent', '{inbox}', clock_timestamp() - $1 * interval '1 s')`,
    [seenSecondsAgo],
  );
  const inbox = await world.lh.queue("inbox");
  const { id } = await inbox.enqueue("k", "silent's", { partitionKey: "silent's" });
  await world.sql(
    `update leasehold.inbox set status = 'processing', claimed_by = 'silent', attempts = 1, claimed_at = clock_timestamp(),
       lease_expires_at = clock_timestamp() + interval '1 hour', lease_generation = nextval('leasehold.lease_tokens') where id = $1`,
    [id],
  );
  return id;
}

test("a start registers, a stop leaves in good order, and a restart raises the generation", async () => {
  const world = await setup({ workerId: "a", region: "eu" });
  await world.queue();
  const first = await startWorker(world.lh, handlers);
  expect(await world.lh.workers()).toMatchObject([
    {
      id: "a",
      state: "alive",
      generation: 1,
      queues: ["inbox"],
      region: "eu",
      pid: process.pid,
      hasSession: true,
    },
  ]);
  expect(await world.sql("select worker_id from leasehold.worker_lease")).toEqual([{ worker_id: "a" }]);
  await first.stop();
  expect(await world.lh.workers()).toMatchObject([
    { id: "a", state: "left", generation: 1, queues: [], hasSession: false },
  ]);
  expect(await world.sql("select worker_id from leasehold.worker_lease")).toEqual([]);
  await startWorker(world.lh, handlers);
  expect(await world.lh.workers()).toMatchObject([{ id: "a", state: "alive", generation: 2 }]);
  await world.lh.close();
  const again = await world.connect();
  await startWorker(again, handlers);
  expect(await again.workers()).toMatchObject([{ id: "a", state: "alive", generation: 3 }]);
});

const evictions: readonly [name: string, evict: (world: World) => Promise<unknown>][] = [
  ["lh.evict", (world) => world.lh.evict("a")],
  [
    "a delete from worker_lease",
    (world) => world.sql("delete from leasehold.worker_lease where worker_id = 'a'"),
  ],
];

for (const [name, evict] of evictions) {
  test(`a worker evicted by ${name} registers again, goes on, and loses no job`, async () => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue();
    const held = gate();
    const ran = new Map<unknown, number>();
    const registered = heard(world.lh, "worker:registered");
    const handle = async (job: WorkingJob) => {
      ran.set(job.payload, (ran.get(job.payload) ?? 0) + 1);
      if (typeof job.payload === "number" && job.payload < 3) await held.passed;
    };
    await startWorker(world.lh, { k: handle }, { concurrency: 4 });
    await inbox.enqueueMany(rows(20));
    await until("some run", () => ran.size >= 3);
    await evict(world);
    await until("it has registered again", () => registered.length >= 2);
    expect(registered.at(-1)!.generation).toBeGreaterThan(1n);
    expect(await row(world.lh, "a")).toMatchObject({ state: "alive" });
    held.open();
    const { id } = await inbox.enqueue("k", "later");
    await untilStatus(world, id, "completed");
    await untilEmpty(world);
    expect(ran.size).toBe(21);
  });
}

test("an eviction while another worker lives: whoever has the rows in the end, every job is done", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const b = await world.connect({ workerId: "b" });
  const started: string[] = [];
  const held = gate();
  const handle = async (job: WorkingJob) => {
    started.push(job.workerId);
    if (job.workerId === "a") await held.passed;
  };
  await startWorker(world.lh, { k: handle }, { leaseMs: 1_000 });
  const registered = heard(world.lh, "worker:registered");
  await inbox.enqueueMany(rows(8));
  await until("all run on a", () => started.length === 8);
  const other = await startWorker(b, { k: handle });
  for (let round = 1; round <= 3; round++) {
    await world.lh.evict("a");
    const isAlive = async () =>
      (await world.lh.workers()).some(({ id, state }) => id === "a" && state === "alive");
    await until("it is a member again", isAlive);
  }
  // The row is alive before the process has heard so.
  await until("it has registered again after each", () => registered.length >= 3);
  await until("the two share again", () => other.load.owned < 360);
  held.open();
  await untilEmpty(world);
  const [done] = await world.sql(
    "select count(*)::int as n from leasehold.inbox_archive where status = 'completed'",
  );
  expect(done).toEqual({ n: 8 });
});

test("an eviction of somebody unknown or already dead is refused", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await expect(world.lh.evict("nobody")).rejects.toMatchObject({ code: "LH_UNKNOWN_WORKER" });
  await (await startWorker(world.lh, handlers)).stop();
  await expect(world.lh.evict("a")).rejects.toMatchObject({ code: "LH_UNKNOWN_WORKER" });
});

test("a second process with the same id takes over, and the first stops by itself and says so", async () => {
  const world = await setup({ workerId: "a", heartbeatMs: 100, ttlMs: 3_000 });
  const inbox = await world.queue();
  const superseded = heard(world.lh, "worker:superseded");
  const held = gate();
  const starts: string[] = [];
  const handle = (name: string) => async (job: WorkingJob) => {
    starts.push(`${name} ${job.payload}/${job.attempt}`);
    if (name === "first") await held.passed;
  };
  const first = await startWorker(world.lh, { k: handle("first") }, { drainLimitMs: 300, abortGraceMs: 200 });
  await inbox.enqueue("k", 1);
  await until("it runs on the first", () => starts.length === 1);
  const second = await startWorker(await world.connect(), { k: handle("second") });
  await until("the first has stopped", () => first.state === "stopped");
  expect(second.state).toBe("working");
  await untilEmpty(world);
  // The new process knows nothing of the token, so it takes the row over at once.
  expect(starts).toEqual(["first 1/1", expect.stringMatching(/^second 1/)]);
  expect(await row(world.lh, "a")).toMatchObject({ state: "alive" });
  expect(superseded).toMatchObject([{ workerId: "a" }]);
});

test("two workers share all buckets within the limit, and joining and leaving tells all to move them", async () => {
  const world = await setup({ workerId: "a", ...withoutPolls() });
  await world.queue();
  const a = await startWorker(world.lh, handlers);
  expect(await shares(world.lh)).toEqual({ a: 360 });
  const other = await world.connect({ workerId: "b", ...withoutPolls() });
  const changes = heard(world.lh, "ring:changed");
  const b = await startWorker(other, handlers);
  await until("a has given some away", () => a.load.owned < 360);
  const shared = await shares(world.lh);
  expect(Object.keys(shared)).toEqual(expect.arrayContaining(["a", "b"]));
  expect(shared.a! + shared.b!).toBe(360);
  expect(Math.max(shared.a!, shared.b!)).toBeLessThanOrEqual(198);
  expect({ a: a.load.owned, b: b.load.owned }).toEqual(shared);
  expect(changes).toMatchObject([{ workerId: "a", workers: ["a", "b"], gained: 0, lost: shared.b }]);
  await b.stop();
  await until("a has all of them again", () => a.load.owned === 360);
  expect(await shares(world.lh)).toEqual({ a: 360 });
  expect(changes.at(-1)).toMatchObject({ workers: ["a"], gained: shared.b, lost: 0 });
});

test("a worker that was not seen for its TTL is marked dead by whoever lists, and its rows are taken over", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const id = await addSilent(world, 3_600);
  await startWorker(world.lh, handlers);
  expect(await row(world.lh, "silent")).toMatchObject({ state: "dead" });
  expect(await shares(world.lh)).toEqual({ a: 360 });
  expect(await untilStatus(world, id, "completed")).toMatchObject({ claimed_by: "a" });
});

test("a worker whose TTL passes while others work is marked dead when it has passed, not at the next look at the ring", async () => {
  // The ring is looked at again every 7 to 8 s, which is too long to come by itself here.
  const world = await setup({ workerId: "a", clock: heldClock({ longMs: 6_000 }), ttlMs: 600_000 });
  await world.queue();
  // Its TTL of 30 s has four seconds left.
  const id = await addSilent(world, 26);
  const a = await startWorker(world.lh, handlers);
  expect(a.load.owned).toBeLessThan(360);
  expect(await stored(world, id)).toMatchObject({ status: "processing" });
  await until("a has all buckets", () => a.load.owned === 360);
  expect(await untilStatus(world, id, "completed")).toMatchObject({ claimed_by: "a", attempts: 2 });
});
