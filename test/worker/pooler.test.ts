import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import {
  type ClaimedJob,
  type Leasehold,
  type Logger,
  type Queue,
  retryAfter,
  type Tx,
} from "../../src/index.js";
import { pgBouncerUrl } from "../support/pgbouncer.js";
import { setup } from "../support/world.js";

/** What differs behind a pooler in transaction mode, and what must not. */
const bouncerUrl = pgBouncerUrl();

const listenMs = 500;
const callers = 8;
const jobsPerCaller = 250;
const total = callers * jobsPerCaller;
const keys = 100;

test("the server process behind a pooler is another one than the one that the client was told of", async (context) => {
  const pooled = await client(bouncerUrl(context));
  const direct = await client(inject("databaseUrl"));
  expect(toldPid(pooled)).not.toBe(await backendPid(pooled));
  expect(toldPid(direct)).toBe(await backendPid(direct));
});

test("two clients of a pooler share a server process, except while one is in a transaction", async (context) => {
  const [one, other] = [await client(bouncerUrl(context)), await client(bouncerUrl(context))];
  const pid = await backendPid(one);
  expect(toldPid(one)).not.toBe(toldPid(other));
  expect(await backendPid(other)).toBe(pid);

  await one.query("begin");
  const held = await backendPid(one);
  expect(await backendPid(other)).not.toBe(held);
  expect(await backendPid(one)).toBe(held);
  await one.query("rollback");
});

test("a client that listens through a pooler hears nothing", async (context) => {
  const pooled = await client(bouncerUrl(context));
  const direct = await client(inject("databaseUrl"));
  const channel = `pooler_${process.pid}`;
  const heard: string[] = [];
  for (const [name, listener] of [
    ["pooled", pooled],
    ["direct", direct],
  ] as const) {
    listener.on("notification", () => heard.push(name));
    await listener.query(`listen ${channel}`);
  }
  const sender = await client(inject("databaseUrl"));
  await sender.query(`notify ${channel}`);
  // That nothing comes can only be seen by waiting; the direct listener shows that there was something to hear.
  await new Promise((resolve) => setTimeout(resolve, listenMs));
  expect(heard).toEqual(["direct"]);
});

test("a notification goes to the client that happens to be on the listening server process", async (context) => {
  const [listener, other] = [await client(bouncerUrl(context)), await client(bouncerUrl(context))];
  const channel = `pooler_stray_${process.pid}`;
  const heard: string[] = [];
  listener.on("notification", () => heard.push("listener"));
  other.on("notification", () => heard.push("other"));
  await listener.query(`listen ${channel}`);
  await other.query(`notify ${channel}`);
  expect(heard).toEqual(["other"]);
});

test(`${callers} callers behind a pooler lose none of ${total} jobs and do none twice`, async (context) => {
  const unnamed: string[] = [];
  const logger = listenForUnnamed(unnamed);
  const world = await setup({ url: bouncerUrl(context), connectionsMax: 4, logger });
  await world.sql("create table leasehold.effects (n int)");
  await world.queue();
  const fleet = await Promise.all(Array.from({ length: callers }, () => world.connect()));
  const scene: Scene = {
    effects: `${world.schema}.effects`,
    ids: new Set(),
    outcomes: [],
    done: 0,
    elections: 0,
  };
  await Promise.all(fleet.map((lh, caller) => enqueueShare(scene, lh, caller)));
  await Promise.all(fleet.map((lh, caller) => work(scene, lh, `w${caller}`)));

  expect(scene.ids.size).toBe(total);
  expect(scene.outcomes.toSorted()).toEqual(numbers(0, total).flatMap(expectedOutcomes).toSorted());
  expect(await world.sql("select n from leasehold.effects order by n")).toEqual(
    numbers(0, total)
      .filter(isWrittenInTransaction)
      .map((n) => ({ n })),
  );
  expect(await world.sql("select from leasehold.inbox")).toEqual([]);
  const archived = await world.sql<{ id: string }>(
    "select id from leasehold.inbox_archive where status = 'completed'",
  );
  expect(archived.map((row) => row.id).toSorted()).toEqual([...scene.ids].toSorted());
  expect(scene.elections).toBeGreaterThan(0);
  expect(unnamed.length).toBeGreaterThan(0);
}, 120_000);

interface Scene {
  readonly effects: string;
  readonly ids: Set<string>;
  /** What was answered to be settled, such as "17 completed". */
  readonly outcomes: string[];
  done: number;
  elections: number;
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
const isFailedOnce = (n: number) => n % 10 === 0;
const isWrittenInTransaction = (n: number) => n % 3 === 0;
const expectedOutcomes = (n: number) => [...(isFailedOnce(n) ? [`${n} failed`] : []), `${n} completed`];

/** Half of them one by one, half of them in one call. */
async function enqueueShare({ ids }: Scene, lh: Leasehold, caller: number): Promise<void> {
  const inbox = await lh.queue("inbox");
  const jobs = numbers(caller * jobsPerCaller, jobsPerCaller).map((n) => ({
    kind: "number",
    payload: n,
    partitionKey: `key-${n % keys}`,
  }));
  const half = jobsPerCaller / 2;
  const [many, ...ones] = await Promise.all([
    inbox.enqueueMany(jobs.slice(half)),
    ...jobs
      .slice(0, half)
      .map(({ kind, payload, partitionKey }) => inbox.enqueue(kind, payload, { partitionKey })),
  ]);
  for (const { id } of [...many, ...ones]) ids.add(id);
}

/** Claims and settles until all is done, or nothing has come for long. */
async function work(scene: Scene, lh: Leasehold, workerId: string): Promise<void> {
  const inbox = await lh.queue("inbox");
  for (let idle = 0; scene.done < total && idle < 2_000; ) {
    // One row of a key at a time, so that a failure does not take others back with it.
    const jobs = await inbox.claim({ workerId, limit: 20, run: 1 });
    idle = jobs.length === 0 ? idle + 1 : 0;
    await Promise.all(jobs.map((job) => settle(scene, inbox, job)));
    if (jobs.length > 0 && (await lh.housekeep()).elected) scene.elections += 1;
  }
}

async function settle(scene: Scene, inbox: Queue, job: ClaimedJob): Promise<void> {
  const n = Number(job.payload);
  if (isFailedOnce(n) && job.attempt === 1) {
    if (await inbox.fail(job, retryAfter(0))) scene.outcomes.push(`${n} failed`);
    return;
  }
  const write = (tx: Tx) => tx.query(`insert into ${scene.effects} values ($1)`, [n]);
  if (isWrittenInTransaction(n)) await job.transaction(write);
  else if (!(await inbox.complete(job))) return;
  scene.outcomes.push(`${n} completed`);
  scene.done += 1;
}

/** As a log, because the first of these events comes before connect() has returned. */
function listenForUnnamed(reasons: string[]): Logger {
  const ignore = (): void => undefined;
  const warn = (fields: object, message: string): void => {
    if ("event" in fields && fields.event === "statements:unnamed") reasons.push(message);
  };
  return { debug: ignore, info: ignore, warn, error: ignore };
}

async function client(url: string): Promise<pg.Client> {
  const opened = new pg.Client({ connectionString: url });
  await opened.connect();
  onTestFinished(() => opened.end());
  return opened;
}

async function backendPid(of: pg.Client): Promise<number> {
  const { rows } = await of.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

/** The process id that came with the key for cancelling; a pooler makes up its own. The types of the driver leave it out. */
function toldPid(by: pg.Client): number | null {
  return (by as pg.Client & { readonly processID: number | null }).processID;
}
