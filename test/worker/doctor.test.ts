import { expect, test } from "vitest";
import { type Diagnosis, diagnose, type FindingCode } from "../../src/index.js";
import { ownDatabase } from "../support/own-database.js";
import { settableClock, setup, type World } from "../support/world.js";
import { gate, startWorker, until } from "./worker-world.js";

/** Other tests use the same server and machine: what concerns these as a whole may be theirs. */
const ofServer: readonly FindingCode[] = [
  "slow_claims",
  "held_snapshot",
  "lock_waits",
  "connections_full",
  "asynchronous_commit",
];

async function codes({ lh }: World): Promise<FindingCode[]> {
  const { findings } = await diagnose(lh);
  return findings.map(({ code }) => code).filter((code) => !ofServer.includes(code));
}

async function found({ lh }: World, code: FindingCode): Promise<Diagnosis["findings"][number] | undefined> {
  return (await diagnose(lh)).findings.find((finding) => finding.code === code);
}

async function working(options: { concurrency?: number; slow?: Promise<void> } = {}): Promise<World> {
  const world = await setup({ workerId: "a", heartbeatMs: 50 });
  await world.queue();
  await startWorker(world.lh, { k: () => options.slow }, { concurrency: options.concurrency ?? 8 });
  return world;
}

/** As if they had been due for so long. */
async function age(world: World, seconds: number): Promise<void> {
  await world.sql(`update leasehold.inbox set available_at = available_at - $1 * interval '1 s'`, [seconds]);
}

/** A worker that has not been seen for its TTL, and is marked. */
async function die(world: World, id: string): Promise<void> {
  await world.sql("insert into leasehold.workers (id, last_seen_at) values ($1, now() - interval '1 hour')", [
    id,
  ]);
  await until("it is marked dead", async () => {
    await world.lh.housekeep();
    return (await world.lh.workers()).some((worker) => worker.id === id && worker.state === "dead");
  });
}

test("a healthy system under load has no findings, ten times out of ten", async () => {
  const world = await working();
  const inbox = await world.queue();
  for (let look = 0; look < 10; look++) {
    await inbox.enqueueMany(
      Array.from({ length: 200 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n % 50}` })),
    );
    expect(await codes(world)).toEqual([]);
  }
});

test("slow handlers: due jobs wait while every slot is busy", async () => {
  const { passed, open } = gate();
  const world = await working({ concurrency: 2, slow: passed });
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 40 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `key-${n}` })),
  );
  await until(
    "both slots are told to be busy",
    async () => (await world.lh.workers())[0]?.load.running === 2,
  );
  await age(world, 90);
  expect((await codes(world))[0]).toBe("slow_handlers");
  const handlers = await found(world, "slow_handlers");
  expect(handlers).toMatchObject({
    severity: "critical",
    queue: "inbox",
    evidence: { running: 2, slots: 2 },
  });
  expect(handlers?.evidence.startable).toBeGreaterThan(2);
  expect(handlers?.evidence.startable).toBeLessThan(40);
  open();
});

test("a hot key: most of what is due belongs to one key, and slots are free", async () => {
  const { passed, open } = gate();
  const world = await working({ slow: passed });
  const inbox = await world.queue();
  await inbox.enqueueMany(
    Array.from({ length: 200 }, (_, n) => ({ kind: "k", payload: n, partitionKey: "tenant:1" })),
  );
  await until("one runs", async () => (await world.lh.workers())[0]?.load.running === 1);
  await age(world, 90);
  expect((await codes(world))[0]).toBe("hot_key");
  expect((await found(world, "hot_key"))?.evidence).toMatchObject({ partitionKey: "tenant:1" });
  open();
});

test("jobs behind a parked dead letter, or behind one in backoff, do not wait for slots", async () => {
  const { passed, open } = gate();
  const world = await working({ concurrency: 2, slow: passed });
  const inbox = await world.queue();
  await inbox.enqueue("k", {}, { partitionKey: "busy" });
  await until("one slot is busy", async () => (await world.lh.workers())[0]?.load.running === 1);
  for (const key of ["parked", "backoff"]) {
    const blocked = Array.from({ length: 4 }, (_, n) => `${key}-${n}`);
    for (const partitionKey of blocked) {
      const { id } = await inbox.enqueue("k", {}, { partitionKey, delayMs: 600_000 });
      const change =
        key === "parked"
          ? "status = 'dead_letter'"
          : "status = 'pending', available_at = now() + interval '1 hour'";
      await world.sql(`update leasehold.inbox set ${change} where id = $1`, [id]);
      await inbox.enqueue("k", {}, { partitionKey });
    }
  }
  await world.sql(
    "update leasehold.inbox set available_at = available_at - interval '90 s' where status = 'pending' and available_at <= now()",
  );
  expect(await codes(world)).toEqual([]);
  open();
});

test("a poison job comes before the deaths that it causes", async () => {
  const world = await working();
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("bomb", {}, { delayMs: 600_000 });
  await world.sql("update leasehold.inbox set crashes = 3, attempts = 3 where id = $1", [id]);
  await die(world, "gone");
  expect(await codes(world)).toEqual(["poison_job", "worker_died"]);
  expect((await found(world, "poison_job"))?.evidence).toMatchObject({ id, crashes: 3 });
});

test("a job that kills workers now is named before a dead letter that killed more of them", async () => {
  const world = await working();
  const inbox = await world.queue();
  const [old, parked, live] = [
    await inbox.enqueue("bomb", {}, { delayMs: 600_000 }),
    await inbox.enqueue("bomb", {}, { delayMs: 600_000 }),
    await inbox.enqueue("bomb", {}, { delayMs: 600_000 }),
  ];
  await world.sql(
    "update leasehold.inbox set crashes = 5, status = 'dead_letter', finished_at = now() - interval '30 min' where id = $1",
    [old.id],
  );
  await world.sql("update leasehold.inbox set crashes = 5, status = 'dead_letter' where id = $1", [
    parked.id,
  ]);
  await world.sql("update leasehold.inbox set crashes = 2 where id = $1", [live.id]);
  expect((await found(world, "poison_job"))?.evidence).toMatchObject({ id: live.id, jobs: 3 });
  await world.sql("delete from leasehold.inbox where id = $1", [live.id]);
  expect((await found(world, "poison_job"))?.evidence).toMatchObject({ id: parked.id, jobs: 2 });
});

test("a worker that died is named, with the rule", async () => {
  const world = await working();
  await die(world, "gone");
  expect(await codes(world)).toEqual(["worker_died"]);
  expect((await found(world, "worker_died"))?.evidence).toMatchObject({ workerIds: ["gone"], rule: "ttl" });
});

test("a worker whose claims fail is the first finding", async () => {
  const world = await working();
  await world.sql(
    `insert into leasehold.workers (id, queues, failing, has_session) values ('b', '{inbox}', '{"inbox": {"what": "claim", "reason": "permission denied", "since": "2026-01-01T00:00:00Z"}}', true)`,
  );
  expect((await codes(world))[0]).toBe("worker_failing");
});

test("a worker that notifications do not reach is named when it has had time to open its session", async () => {
  const world = await working();
  await world.sql(
    `insert into leasehold.workers (id, queues, has_session, started_at) values ('deaf', '{inbox}', false, now() - interval '1 minute'), ('new', '{inbox}', false, now())`,
  );
  expect(await codes(world)).toEqual(["notifications_off"]);
  expect((await found(world, "notifications_off"))?.evidence).toEqual({ workerIds: ["deaf"] });
});

test("a session that has written and does not commit is named, although it holds no snapshot", async () => {
  // The five oldest holders of a database are named: in the shared one, other tests' sessions may be older.
  const world = await setup({}, (await ownDatabase()).href);
  const client = await world.client();
  await client.query("begin");
  const { rows } = await client.query<{ pid: string }>(
    "select pg_backend_pid()::text as pid, pg_current_xact_id()",
  );
  const later = await world.connect({ clock: settableClock(new Date(Date.now() + 120_000)) });
  const { findings } = await diagnose(later);
  const held = findings.filter(({ code }) => code === "held_snapshot");
  expect(held.map(({ evidence }) => evidence.name)).toContain(rows[0]?.pid);
});
