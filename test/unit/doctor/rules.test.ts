import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Facts, QueueFacts } from "../../../src/doctor/facts.js";
import { type Finding, finding, findingCodes, inOrder } from "../../../src/doctor/finding.js";
import { fleetFindings } from "../../../src/doctor/fleet-rules.js";
import { queueFindings } from "../../../src/doctor/queue-rules.js";
import { serverFindings } from "../../../src/doctor/server-rules.js";
import type { HistoryEntry } from "../../../src/history/read.js";
import { recentWork } from "../../../src/operate/recent.js";
import type { WorkerRow } from "../../../src/operate/workers.js";

const now = new Date("2026-06-01T12:00:00Z");
const ago = (ms: number): Date => new Date(now.getTime() - ms);

const worker: WorkerRow = {
  id: "a",
  hostname: "h",
  pid: 1,
  region: null,
  state: "alive",
  startedAt: ago(3_600_000),
  lastSeenAt: ago(1_000),
  expiresInMs: 29_000,
  generation: 1,
  queues: ["inbox"],
  kinds: {},
  failing: {},
  hasSession: true,
  freeSince: null,
  metadata: {},
  load: { version: "1.0.0", running: 0, slots: 8, held: 0, idleMs: {}, recent: {} },
};

const queue: QueueFacts = {
  summary: { name: "inbox", order: "key", pausedAt: null } as QueueFacts["summary"],
  stats: {
    scheduled: 0,
    pending: 0,
    processing: 0,
    prefetched: 0,
    deadLetter: 0,
    due: 0,
    retrying: 0,
    expired: 0,
    oldestDueAt: null,
    share: 1,
    recent: recentWork([]),
  } as QueueFacts["stats"],
  ring: { members: ["a"], owners: Array.from({ length: 8 }, () => "a") },
  storage: {
    table_bytes: "1",
    index_bytes: "1",
    live_tuples: "10",
    dead_tuples: "0",
    last_vacuum_at: null,
    autovacuum_enabled: true,
    is_vacuuming: false,
  },
  keys: [],
  poison: [],
  dead: { dead: "0", kind: null, last_error: null, share: 1 },
  unhandled: [],
};

const healthy: Facts = {
  schema: "leasehold",
  now,
  aheadMs: 0,
  server: {
    now,
    version: "18.0",
    is_replica: false,
    synchronous_commit: "on",
    autovacuum: "on",
    track_counts: "on",
    max_connections: 100,
    connections: 10,
    lock_waits: 0,
    longest_lock_wait_ms: null,
    lock_waiter: null,
    lock_holders: [],
  },
  holders: [],
  workers: [worker],
  history: [],
  queues: [queue],
};

function findingsOf(facts: Facts): readonly Finding[] {
  return inOrder([...serverFindings(facts), ...fleetFindings(facts), ...queueFindings(facts)]);
}

const codesOf = (facts: Facts): string[] => findingsOf(facts).map(({ code }) => code);
const server = (more: Partial<Facts["server"]>): Facts => ({
  ...healthy,
  server: { ...healthy.server, ...more },
});
const withQueue = (more: Partial<QueueFacts>): Facts => ({ ...healthy, queues: [{ ...queue, ...more }] });
const stats = (more: Partial<QueueFacts["stats"]>): Partial<QueueFacts> => ({
  stats: { ...queue.stats, ...more },
});

function joined(workerId: string, msAgo: number, why = "it starts"): HistoryEntry {
  const detail = { why };
  return {
    id: "1",
    at: ago(msAgo),
    kind: "worker:joined",
    queue: null,
    workerId,
    count: null,
    actor: "x",
    application: "",
    detail,
  };
}

function holder(more: Partial<Facts["holders"][number]>): Facts {
  const one = {
    sort: "session",
    name: "77",
    owner: "bob",
    state: "idle in transaction",
    since: ago(90_000),
    xid_age: "5000",
    query: "select 1",
  };
  return { ...healthy, holders: [{ ...one, ...more }] };
}

test("a healthy system has no findings", () => {
  expect(findingsOf(healthy)).toEqual([]);
});

describe("the server", () => {
  test.each<[string, Facts]>([
    ["replica", server({ is_replica: true })],
    [
      "lock_waits",
      server({ lock_waits: 2, longest_lock_wait_ms: 5_000, lock_waiter: "select", lock_holders: ["7"] }),
    ],
    ["autovacuum_off", server({ autovacuum: "off" })],
    ["autovacuum_off", withQueue({ storage: { ...queue.storage, autovacuum_enabled: false } })],
    ["connections_full", server({ connections: 95 })],
    ["asynchronous_commit", server({ synchronous_commit: "off" })],
    ["clock_skew", { ...healthy, aheadMs: -5_000 }],
    ["held_snapshot", holder({})],
    ["held_snapshot", holder({ sort: "autovacuum worker", query: "autovacuum: ANALYZE public.t" })],
    ["held_snapshot", holder({ sort: "prepared transaction", name: "gid-1" })],
    ["held_snapshot", holder({ sort: "replication slot", state: "inactive", since: null })],
  ])("%s", (code, facts) => {
    expect(codesOf(facts)).toEqual([code]);
  });

  test("short snapshots, active slots and short waits are no findings", () => {
    expect(codesOf(holder({ since: ago(30_000) }))).toEqual([]);
    expect(codesOf(holder({ sort: "replication slot", state: "active", since: null }))).toEqual([]);
    expect(codesOf(server({ lock_waits: 1, longest_lock_wait_ms: 100 }))).toEqual([]);
  });

  test("a standby, or an active slot, is named when much has happened since and many rows are dead", () => {
    const dead = { ...queue, storage: { ...queue.storage, dead_tuples: "60000", live_tuples: "100000" } };
    for (const given of [
      { sort: "standby", state: "active", since: null },
      { sort: "replication slot", state: "active", since: null },
    ]) {
      const behind = holder({ ...given, xid_age: "10000" });
      expect(codesOf(behind)).toEqual([]);
      expect(codesOf({ ...holder({ ...given, xid_age: "9999" }), queues: [dead] })).toEqual([]);
      const [held] = findingsOf({ ...behind, queues: [dead] });
      expect(held).toMatchObject({ code: "held_snapshot", severity: "warning" });
      expect(held?.advice).toContain("hot_standby_feedback");
      expect(held?.advice).not.toContain("pg_drop_replication_slot");
    }
  });

  test("a snapshot is worse when it is old, or when many rows are dead, and names who holds it", () => {
    const [old] = findingsOf(holder({ since: ago(1_200_000) }));
    expect(old).toMatchObject({ severity: "critical", evidence: { name: "77", owner: "bob" } });
    expect(old?.advice).toContain("pg_terminate_backend(77)");
    const dead = { ...queue, storage: { ...queue.storage, dead_tuples: "60000", live_tuples: "100000" } };
    expect(findingsOf({ ...holder({}), queues: [dead] })[0]).toMatchObject({
      code: "held_snapshot",
      severity: "critical",
    });
  });
});

test("an autovacuum worker that holds a snapshot is called that, and is not to be terminated", () => {
  const [held] = findingsOf(holder({ sort: "autovacuum worker", query: "autovacuum: ANALYZE public.t" }));
  expect(held?.words).toContain("The autovacuum worker 77");
  expect(held?.advice).toContain("the server's own autovacuum");
  expect(held?.advice).not.toContain("pg_terminate_backend");
});

describe("the fleet", () => {
  test("a process that starts over and over is a loop; one that registers again is not", () => {
    const loop = [1, 2, 3, 4].map((n) => joined("b", n * 10_000));
    expect(codesOf({ ...healthy, history: loop })).toEqual(["restart_loop"]);
    expect(codesOf({ ...healthy, history: loop.slice(1) })).toEqual([]);
    const again = [1, 2, 3, 4].map((n) => joined("b", n * 10_000, "its session is new"));
    expect(codesOf({ ...healthy, history: again })).toEqual([]);
  });

  test("several versions are an info", () => {
    const other = { ...worker, id: "b", load: { ...worker.load, version: "1.1.0" } };
    expect(findingsOf({ ...healthy, workers: [worker, other] })).toMatchObject([
      { code: "mixed_versions", severity: "info" },
    ]);
  });
});

function slowClaims(p50Ms: number): QueueFacts["stats"]["recent"]["claims"] {
  return { count: 50, p50Ms, p99Ms: 200, rowsPerClaim: 1 };
}

function poison(status: string, diedAt: Date | null): Partial<QueueFacts> {
  const job = { id: "1", kind: "k", partition_key: "p", crashes: 5, last_error: null };
  return { poison: [{ ...job, status, died_at: diedAt }] };
}

const hotTenant = { partition_key: "t", rows: "60", total: "60", share: 1, startable: "0" };

/** Sixty keys with a job each that could start. */
const manyKeys = { keys: [{ ...hotTenant, rows: "1", startable: "60" }] };

describe("a queue", () => {
  const late = { due: 60, oldestDueAt: ago(20_000) };
  test.each<[string, Facts]>([
    ["no_workers", { ...withQueue(stats({ due: 3 })), workers: [] }],
    [
      "queue_paused",
      withQueue({ ...stats({ due: 3 }), summary: { ...queue.summary, pausedAt: ago(5_000) } }),
    ],
    ["unhandled_kind", withQueue({ unhandled: [{ kind: "new", rows: "4" }] })],
    ["dead_letters", withQueue({ dead: { dead: "2", kind: "k", last_error: "boom", share: 1 } })],
    ["expired_leases", { ...withQueue(stats({ expired: 3 })), workers: [] }],
    ["lost_leases", withQueue(stats({ recent: { ...recentWork([]), leasesLost: 1 } }))],
    ["bloat", withQueue({ storage: { ...queue.storage, dead_tuples: "100000" } })],
    [
      "slow_claims",
      withQueue(
        stats({
          recent: { ...recentWork([]), claims: slowClaims(60) },
        }),
      ),
    ],
    ["hot_key", withQueue({ ...stats(late), keys: [hotTenant] })],
    [
      "slow_handlers",
      { ...withQueue(stats(late)), workers: [{ ...worker, load: { ...worker.load, running: 8 } }] },
    ],
    [
      "bucket_skew",
      withQueue({
        ...stats({ due: 5_000 }),
        ring: { members: ["a", "b"], owners: ["a", "a", "a", "a", "a", "a", "a", "b"] },
      }),
    ],
  ])("%s", (code, facts) => {
    expect(codesOf(facts)).toEqual([code]);
  });

  test("bloat: the vacuum that is advised names the schema", () => {
    const bloated = withQueue({ storage: { ...queue.storage, dead_tuples: "100000" } });
    const [{ advice } = { advice: "" }] = findingsOf({ ...bloated, schema: "jobs" });
    expect(advice).toContain("vacuum jobs.inbox.");
  });

  test("bucket_skew counts the members of its queue, not every worker", () => {
    const ring = { members: ["a", "b"], owners: ["a", "a", "a", "a", "a", "a", "a", "b"] };
    const others = ["b", "c", "d"].map((id) => ({ ...worker, id, queues: ["other"] }));
    const skewed = { ...withQueue({ ...stats({ due: 5_000 }), ring }), workers: [worker, ...others] };
    expect(findingsOf(skewed)[0]?.evidence).toMatchObject({ owned: 7, even: 4, workers: 2 });
  });

  test("dead letters that were counted in a sample are told as about so many", () => {
    const dead = { dead: "40", kind: "k", last_error: "boom", share: 0.25 };
    const [{ words } = { words: "" }] = findingsOf(withQueue({ dead }));
    expect(words).toContain("about 40 job(s) of inbox became dead letters");
  });

  test("a few slow claims beside fast ones, and jobs that wait while slots are free, are no findings", () => {
    const claims = { count: 50, p50Ms: 2, p99Ms: 200, rowsPerClaim: 1 };
    expect(codesOf(withQueue(stats({ recent: { ...recentWork([]), claims } })))).toEqual([]);
    expect(codesOf(withQueue(stats(late)))).toEqual([]);
  });

  test("slow claims explain jobs that wait only while slots are free for jobs of many keys", () => {
    const slow = { recent: { ...recentWork([]), claims: slowClaims(12) } };
    expect(codesOf(withQueue(stats(slow)))).toEqual([]);
    expect(codesOf(withQueue(stats({ ...slow, ...late })))).toEqual(["slow_claims"]);
    const keys = [hotTenant];
    expect(codesOf(withQueue({ ...stats({ ...slow, ...late }), keys }))).toEqual(["hot_key"]);
    const busy = { ...worker, load: { ...worker.load, running: 8 } };
    expect(codesOf({ ...withQueue(stats({ ...slow, ...late })), workers: [busy] })).toEqual([
      "slow_handlers",
    ]);
  });

  test("claims of which half are slow are named after what jobs wait for", () => {
    const slow = { recent: { ...recentWork([]), claims: slowClaims(60) } };
    expect(findingsOf(withQueue(stats(slow)))).toMatchObject([{ code: "slow_claims", severity: "info" }]);
    const busy = { ...worker, load: { ...worker.load, running: 8 } };
    expect(codesOf({ ...withQueue(stats({ ...slow, ...late })), workers: [busy] })).toEqual([
      "slow_handlers",
      "slow_claims",
    ]);
  });

  test("slow claims are listed beside slow handlers that are guessed from half-busy slots", () => {
    const claims = { count: 50, p50Ms: 45, p99Ms: 3_000, rowsPerClaim: 1 };
    const slow = stats({ ...late, recent: { ...recentWork([]), claims } });
    const workers = [{ ...worker, load: { ...worker.load, running: 4 } }];
    expect(findingsOf({ ...withQueue({ ...slow, ...manyKeys }), workers })).toMatchObject([
      { code: "slow_handlers", severity: "warning" },
      { code: "slow_claims", severity: "info" },
    ]);
    expect(findingsOf({ ...withQueue(slow), workers })).toMatchObject([
      { code: "slow_claims", severity: "warning" },
    ]);
  });

  test("a slot that is free between two jobs does not hide slow handlers, and a hot key still comes first", () => {
    const mostlyBusy = [{ ...worker, load: { ...worker.load, running: 6 } }];
    expect(codesOf({ ...withQueue({ ...stats(late), ...manyKeys }), workers: mostlyBusy })).toEqual([
      "slow_handlers",
    ]);
    const keys = [hotTenant];
    expect(codesOf({ ...withQueue({ ...stats(late), keys }), workers: mostlyBusy })).toEqual(["hot_key"]);
    const idle = [{ ...worker, load: { ...worker.load, running: 3 } }];
    expect(codesOf({ ...withQueue({ ...stats(late), ...manyKeys }), workers: idle })).toEqual([]);
  });

  test("a job that waits behind its key says nothing of the handlers of a fleet that is mostly busy", () => {
    const workers = [{ ...worker, load: { ...worker.load, running: 6 } }];
    const parked = { partition_key: "parked", rows: "1", total: "1", share: 1, startable: "0" };
    const one = stats({ due: 1, oldestDueAt: ago(90_000) });
    expect(codesOf({ ...withQueue({ ...one, keys: [parked] }), workers })).toEqual([]);
    const burst = { ...stats({ due: 60, oldestDueAt: ago(90_000) }), keys: [{ ...parked, startable: "8" }] };
    expect(codesOf({ ...withQueue(burst), workers })).toEqual([]);
  });

  test("a poison job comes before the restarts that it caused, also as a dead letter", () => {
    const history = [1, 2, 3, 4].map((n) => joined("b", n * 10_000));
    for (const one of [
      poison("pending", null),
      poison("dead_letter", null),
      poison("dead_letter", ago(60_000)),
    ])
      expect(codesOf({ ...withQueue(one), history })).toEqual(["poison_job", "restart_loop"]);
    const over = withQueue(poison("dead_letter", ago(1_800_000)));
    expect(findingsOf(over)).toMatchObject([{ code: "poison_job", severity: "warning" }]);
    expect(codesOf({ ...over, history })).toEqual(["restart_loop", "poison_job"]);
  });
});

test("the worst comes first, and of equals the one that explains the others", () => {
  const of = (code: Finding["code"], severity: Finding["severity"]): Finding =>
    finding({ code, severity, words: "", advice: "", evidence: {} });
  const order = inOrder([
    of("clock_skew", "info"),
    of("worker_died", "warning"),
    of("slow_handlers", "critical"),
    of("poison_job", "warning"),
    of("replica", "critical"),
  ]);
  expect(order.map(({ code }) => code)).toEqual([
    "replica",
    "slow_handlers",
    "poison_job",
    "worker_died",
    "clock_skew",
  ]);
});

test("every code has its section in docs/doctor.md, and no section is without a code", () => {
  const headings = [...readFileSync("docs/doctor.md", "utf8").matchAll(/^### (\w+)$/gm)].map(
    ([, name]) => name,
  );
  expect(headings).toEqual([...findingCodes]);
});
