import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { promote } from "../../chaos/standby.js";
import { NodePostgres } from "../../src/adapters/node-postgres.js";
import { OwnPool } from "../../src/adapters/own-pool.js";
import { createEvents } from "../../src/events.js";
import { type ConnectOptions, connect, defaults, diagnose, type Leasehold } from "../../src/index.js";
import { createMetrics } from "../../src/metrics.js";
import { ask } from "../embedded/server-world.js";
import { hotStandby, type Pair } from "../support/hot-standby.js";
import { heard, until } from "../worker/worker-world.js";

/** Until the end of the test. */
async function open(options: ConnectOptions): Promise<Leasehold> {
  const lh = await connect({ logger: false, ...options });
  onTestFinished(() => lh.close());
  return lh;
}

const withReplica = ({ primary, standby }: Pair): Promise<Leasehold> =>
  open({ url: primary.url, replicaUrl: standby.url });

async function stopReplay(url: string): Promise<void> {
  await ask(url, "select pg_wal_replay_pause()");
  const state = "select pg_get_wal_replay_pause_state()";
  await until("replay has stopped", async () => (await ask(url, state)) === "paused");
}

test("lists, counts and charts come from the replica and say how old they are; all else asks the primary", async () => {
  const pair = await hotStandby();
  const { primary, standby, inbox: before } = pair;
  const { id: old } = await before.enqueue("k", 1, { partitionKey: "a", delayMs: 3_600_000 });
  await pair.lh.housekeep();
  await pair.untilReplayed();
  const lh = await withReplica(pair);
  const inbox = await lh.queue("inbox");
  await until("it is not behind", async () => (await lh.replica())?.behindMs === 0);
  await stopReplay(standby.url);
  const lastReplayed = await ask(standby.url, "select pg_last_xact_replay_timestamp()::text");

  const { id: fresh } = await inbox.enqueue("k", 2, { partitionKey: "b" });
  await inbox.change({ maxAttempts: 3 });
  const dies = `update leasehold.inbox set status = 'dead_letter', finished_at = now() where id = '${old}'`;
  await ask(primary.url, dies);
  await ask(primary.url, "delete from leasehold.samples");
  expect((await inbox.list()).map(({ id }) => id)).toEqual([old]);
  expect((await inbox.search()).jobs.map(({ id }) => id)).toEqual([old]);
  expect((await inbox.search({ status: "pending", partitionKey: "b" })).jobs).toEqual([]);
  expect((await inbox.deadLetters()).groups).toEqual([]);
  // It looks at the archive too, and both must be of one server.
  expect((await inbox.search({ status: "dead_letter" })).jobs.map(({ id }) => id)).toEqual([old]);
  expect((await inbox.list({ status: "dead_letter" })).map(({ id }) => id)).toEqual([old]);
  expect(await lh.samples("inbox")).toHaveLength(1);
  expect((await lh.history()).map(({ kind }) => kind)).not.toContain("queue:changed");
  for (const exact of [true, false]) {
    const stats = await inbox.stats({ exact });
    expect(stats).toMatchObject({ scheduled: 1, due: 0, deadLetter: 0, source: "replica" });
    expect(stats.asOf).toEqual(new Date(lastReplayed));
  }

  expect(await inbox.get(old)).toMatchObject({ status: "dead_letter" });
  expect(await inbox.why(fresh)).toMatchObject({ reason: "no_workers" });
  expect(await lh.queues()).toMatchObject([{ maxAttempts: 3 }]);
  expect((await lh.runbook("dead-by-kind", { queue: "inbox" })).rows).toHaveLength(1);
  // Nothing is due on the replica.
  expect((await diagnose(lh)).findings.map(({ code }) => code)).toContain("no_workers");

  await until("it is behind", async () => ((await lh.replica())?.behindMs ?? 0) > 0);
  const [lag] = (await createMetrics(lh).collect()).filter(
    ({ name }) => name === "leasehold_replica_lag_seconds",
  );
  expect(lag?.samples[0]?.value).toBeGreaterThan(0);

  await ask(standby.url, "select pg_wal_replay_resume()");
  await pair.untilReplayed();
  expect(await inbox.stats()).toMatchObject({ scheduled: 0, due: 1, deadLetter: 1 });
  await until("it is not behind", async () => (await lh.replica())?.behindMs === 0);
});

test("while the replica is away the primary answers, and each change is told once", async () => {
  const pair = await hotStandby();
  const { standby, inbox: before } = pair;
  const lh = await withReplica(pair);
  const inbox = await lh.queue("inbox");
  const [lost, regained] = [heard(lh, "replica:lost"), heard(lh, "replica:regained")];
  expect(await inbox.stats()).toMatchObject({ source: "replica" });
  await standby.kill();
  const { id } = await before.enqueue("k", 1);
  for (let n = 0; n < 20; n++) {
    expect((await inbox.list()).map((job) => job.id)).toEqual([id]);
    expect(await inbox.stats()).toMatchObject({ due: 1, source: "primary", asOf: null });
  }
  expect(await lh.replica()).toEqual({ isUsed: false, behindMs: null, reason: expect.any(String) });
  expect(lost).toEqual([{ reason: expect.any(String) }]);

  await standby.restart("immediate");
  await until("it is used again", async () => (await inbox.stats()).source === "replica");
  expect(regained).toEqual([{ lostMs: expect.any(Number) }]);
  expect(lost).toHaveLength(1);
});

test("more reads than the replica has connections for are no reason to give it up", async () => {
  const pair = await hotStandby();
  const { primary, standby } = pair;
  const lh = await withReplica(pair);
  const inbox = await lh.queue("inbox");
  const lost = heard(lh, "replica:lost");
  const holder = new pg.Client({ connectionString: primary.url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query("begin; lock table leasehold.inbox in access exclusive mode");
  const isLocked = `select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted
    and relation = 'leasehold.inbox'::regclass`;
  await until("the lock is replayed", async () => (await ask(standby.url, isLocked)) === "1");

  const waiting = `select count(*) from pg_stat_activity where wait_event_type = 'Lock'
    and backend_type = 'client backend'`;
  const answers = Array.from({ length: 2 * defaults.replicaReadsMax }, () => inbox.stats());
  const reads = String(defaults.replicaReadsMax);
  await until("reads wait on the standby", async () => (await ask(standby.url, waiting)) === reads);
  await until("the others wait on the primary", async () => Number(await ask(primary.url, waiting)) > 0);
  await until("it says that it is used", async () => (await lh.replica())?.isUsed === true);
  await holder.query("rollback");
  expect((await Promise.all(answers)).map(({ source }) => source)).toContain("replica");
  expect(lost).toEqual([]);
});

test("connect() does not need the replica, and uses it when it comes", async () => {
  const pair = await hotStandby();
  await pair.standby.kill();
  const lines: string[] = [];
  const line = (_: object, message: string): void => void lines.push(message);
  const logger = { debug: () => {}, info: line, warn: line, error: line };
  const lh = await open({ url: pair.primary.url, replicaUrl: pair.standby.url, logger });
  const inbox = await lh.queue("inbox");
  expect(await inbox.stats()).toMatchObject({ source: "primary" });
  expect(lines.filter((text) => text.startsWith("the replica is not used"))).toHaveLength(1);
  await pair.standby.restart("immediate");
  await until("it is used", async () => (await inbox.stats()).source === "replica");
});

test("a read that is cancelled by a conflict with recovery is answered by the primary, and the replica stays in use", async () => {
  const pair = await hotStandby();
  const { primary, standby } = pair;
  await ask(standby.url, "alter system set max_standby_streaming_delay = 0");
  await ask(standby.url, "select pg_reload_conf()");
  const lh = await withReplica(pair);
  const inbox = await lh.queue("inbox");
  await inbox.enqueue("k", 1);
  const lost = heard(lh, "replica:lost");
  const holder = new pg.Client({ connectionString: primary.url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query("begin; lock table leasehold.inbox in access exclusive mode");
  const isLocked = `select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted
    and relation = 'leasehold.inbox'::regclass`;
  await until("the lock is replayed", async () => (await ask(standby.url, isLocked)) === "1");

  // The read holds the table of queues and waits for that of jobs, until replay needs the first.
  const answer = inbox.stats();
  const isWaiting =
    "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and backend_type = 'client backend'";
  await until("the read waits on the standby", async () => (await ask(standby.url, isWaiting)) === "1");
  await ask(primary.url, "do 'begin lock table leasehold.queues in access exclusive mode; end'");
  await until("the read was cancelled", async () => (await ask(standby.url, isWaiting)) === "0");
  await holder.query("rollback");
  expect(await answer).toMatchObject({ due: 1, source: "primary" });
  await pair.untilReplayed();
  expect(await inbox.stats()).toMatchObject({ due: 1, source: "replica" });
  expect(lost).toEqual([]);
});

test("what is no replica of the primary is refused, or not used", async () => {
  const pair = await hotStandby();
  const { primary, standby } = pair;
  const url = primary.url;
  const refused = (replicaUrl: string): Promise<Leasehold> => open({ url, replicaUrl });
  const mismatch = { code: "LH_REPLICA_MISMATCH" };
  await expect(refused(inject("databaseUrl"))).rejects.toMatchObject(mismatch);
  await ask(url, "create database other");
  await pair.untilReplayed();
  const other = Object.assign(new URL(standby.url), { pathname: "/other" }).href;
  await expect(refused(other)).rejects.toMatchObject(mismatch);
  await expect(refused("standby.internal")).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
    option: "replicaUrl",
  });

  // An address for reads leads to the primary when no standby is left.
  const itself = await refused(url);
  expect(await (await itself.queue("inbox")).stats()).toMatchObject({ source: "primary", asOf: null });
  await until("it is not behind", async () => (await itself.replica())?.behindMs === 0);

  const lh = await withReplica(pair);
  await promote(standby);
  await pair.inbox.enqueue("k", 1);
  const inbox = await lh.queue("inbox");
  const names = async () => (await lh.replica())?.reason?.includes("no standby") === true;
  await until("the reason is named", names);
  expect(await inbox.stats()).toMatchObject({ due: 1, source: "primary" });
});

test("what is sent to a replica can't write, and the server ends it before we give it up", async () => {
  const limits = { ...defaults, statementTimeoutMs: 12_345, isReadOnly: true };
  const pool = new OwnPool({ ...limits, url: inject("databaseUrl"), connectionsMax: 2 });
  const driver = new NodePostgres(pool, limits, createEvents());
  onTestFinished(() => driver.close());
  const run = (text: string) => driver.transaction((tx) => tx.query(text), "ours");
  expect((await run("show statement_timeout")).rows).toEqual([{ statement_timeout: "11345ms" }]);
  await expect(run("create table written (n int)")).rejects.toMatchObject({ code: "LH_READ_ONLY_SERVER" });
});
