import { describe, expect, inject, type TestContext, test } from "vitest";
import { report } from "../support/figures.js";
import { type Fleet, now, openFleet, type Told } from "../support/fleet.js";
import { findingsOf, pausesOf, percentile, startsOf } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { pgBouncerUrl } from "../support/pgbouncer.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/**
 * What a worker does, with its pool behind a pooler in transaction mode: once with directUrl, which gives it a session of its own, and once without,
 * when it polls and a crash is noticed by TTL. The guarantees are the same, only the times differ.
 */
const bouncerUrl = pgBouncerUrl();

const ttlMs = 3_000;
const nothing = { orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] };

interface Pooled {
  readonly world: World;
  readonly fleet: Fleet;
}

const isTold = (fleet: Fleet, id: string): boolean => fleet.told.some((one) => one.worker === id);
const say = (what: string, figures: object): void =>
  void process.stdout.write(`through a pooler, ${what}: ${JSON.stringify(figures)}\n`);

async function pooled(context: TestContext, isDirect: boolean): Promise<Pooled> {
  const url = bouncerUrl(context);
  const world = await setup({ url });
  await world.queue();
  // With a session the TTL and the polls are held, so that they can't be what notices a crash or finds a job.
  const rest = isDirect
    ? { directUrl: inject("databaseUrl"), ttlMs: 600_000, leaseMs: 600_000, isUnpolled: true }
    : { heartbeatMs: 1_000, ttlMs };
  return { world, fleet: openFleet(world, { url, ...rest }) };
}

/** The workers that told this, once for each time. */
function tellersOf(fleet: Fleet, name: string): readonly string[] {
  return fleet.events.filter((one) => one.name === name).map((one) => one.worker);
}

/** Each worker said once whether it can be woken, and why not if it can't. */
function expectSessions(fleet: Fleet, isDirect: boolean): void {
  const ids = fleet.processes.map((one) => one.id).toSorted();
  expect(tellersOf(fleet, "wake:unavailable").toSorted()).toEqual(isDirect ? [] : ids);
  expect([...new Set(tellersOf(fleet, "session:opened"))].toSorted()).toEqual(isDirect ? ids : []);
}

async function archivedCount(world: World): Promise<{ count: number; attempts: number } | undefined> {
  const [row] = await world.sql<{ count: number; attempts: number }>(
    `select count(*)::int as count, max(attempts)::int as attempts from leasehold.inbox_archive where status = 'completed'`,
  );
  return row;
}

/** Three in thirty fail on their first attempt. */
async function enqueueWithFailures(load: Load, count: number): Promise<void> {
  while (load.enqueued < count) {
    await load.enqueue(27);
    await load.enqueue(3, { failures: 1 });
  }
}

/** Those that ended without a word: here, attempts that failed. */
function failedStarts(told: readonly Told[]): ReadonlySet<Told> {
  const idOf = ({ key, n, token, worker }: Told): string => `${key} ${n} ${token} ${worker}`;
  const ended = new Set(told.filter((one) => one.is === "end").map(idOf));
  return new Set(told.filter((one) => one.is === "start" && !ended.has(idOf(one))));
}

async function drainsInOrder({ world, fleet }: Pooled, isDirect: boolean): Promise<void> {
  const load = new Load(world, 100);
  const startedAt = now();
  const added = Promise.all(["w0", "w1", "w2"].map((id) => fleet.add(id)));
  await enqueueWithFailures(load, 3_000);
  await added;
  await untilDrained(world);
  const failed = failedStarts(fleet.told);
  say("drain", { isDirect, jobs: load.enqueued, failed: failed.size, ms: Math.round(now() - startedAt) });
  expect(await archivedCount(world)).toEqual({ count: 3_000, attempts: 2 });
  expect(failed.size).toBe(300);
  expect([...failed].every((one) => one.attempt === 1)).toBe(true);
  expect(new Set(fleet.told.map((one) => one.worker)).size).toBe(3);
  // A failed attempt has no end to judge by; the one that follows it holds its place in the line.
  expect(findingsOf({ ...fleet, told: fleet.told.filter((one) => !failed.has(one)) })).toEqual(nothing);
  expectSessions(fleet, isDirect);
}

async function drainsOnSignal({ world, fleet }: Pooled, isDirect: boolean): Promise<void> {
  for (const id of ["w0", "w1", "w2"]) await fleet.add(id);
  const load = new Load(world, 100);
  load.start(150, { workMs: 60 });
  await until("all work", () => fleet.alive().every((one) => isTold(fleet, one.id)));
  const times: number[] = [];
  for (const one of fleet.alive().slice(0, 2)) {
    const from = now();
    expect(await fleet.drain(one)).toBe(0);
    times.push(Math.round(now() - from));
  }
  await load.stop();
  await untilDrained(world);
  say("drain by signal", { isDirect, jobs: load.enqueued, exitMs: times });
  expect(await archivedCount(world)).toEqual({ count: load.enqueued, attempts: 1 });
  expect(findingsOf(fleet)).toEqual(nothing);
}

/** How long the keys that last ran on the killed worker waited for their next start. */
function waitsAfter(fleet: Fleet, killed: { readonly id: string; readonly at: number }): readonly number[] {
  const waits: number[] = [];
  for (const starts of startsOf(fleet.told).values()) {
    const next = starts.find((one) => one.at > killed.at && one.worker !== killed.id);
    const last = starts.findLast((one) => one.at <= killed.at);
    if (next !== undefined && last?.worker === killed.id) waits.push(next.at - killed.at);
  }
  return waits;
}

async function survivesKill({ world, fleet }: Pooled, isDirect: boolean): Promise<void> {
  await world.sql(`create table leasehold.effects (key text, n int, token bigint)`);
  for (const id of ["w0", "w1", "w2"]) await fleet.add(id);
  const load = new Load(world, 100);
  load.start(80, { workMs: 5, effect: true });
  await until("all work", () => fleet.alive().every((one) => isTold(fleet, one.id)));
  const [victim] = fleet.alive();
  if (victim === undefined) throw new Error("Nobody is alive.");
  const killed = { id: victim.id, at: now() };
  await fleet.kill(victim);
  const own = [...startsOf(fleet.told)].flatMap(([key, starts]) =>
    starts.findLast((one) => one.at <= killed.at)?.worker === killed.id ? [key] : [],
  );
  expect(own.length).toBeGreaterThan(0);
  const goesOn = (key: string): boolean =>
    fleet.told.some((one) => one.key === key && one.at > killed.at && one.worker !== killed.id);
  await until("its keys run elsewhere", () => own.every(goesOn));
  await load.stop();
  await untilDrained(world);
  const waits = waitsAfter(fleet, killed);
  const [p50, max] = [Math.round(percentile(waits, 0.5)), Math.round(percentile(waits, 1))];
  report(`through a pooler, kill, ${isDirect}`, { p50, max }, { max: isDirect ? 3_000 : ttlMs + 5_000 });
  const done = await world.sql<{ key: string; n: number }>(`select key, n from leasehold.effects`);
  const doneNames = new Set(done.map((one) => `${one.key} ${one.n}`));
  expect([done.length, doneNames.size]).toEqual([load.enqueued, load.enqueued]);
  expect(findingsOf(fleet, doneNames)).toEqual(nothing);
}

async function wakes({ world, fleet }: Pooled, isDirect: boolean): Promise<void> {
  await fleet.add("w0");
  const load = new Load(world, 100);
  if (isDirect) await until("it is asleep", () => fleet.isAsleep());
  const jobs = isDirect ? 12 : 4;
  for (let i = 1; i <= jobs; i++) {
    await load.enqueue(1);
    await until("it has started", () => fleet.told.filter((one) => one.is === "start").length === i);
  }
  await untilDrained(world);
  const waits = [...pausesOf(fleet.told, load.committedAt).values()].flat().map((one) => one.pauseMs);
  const [p50, max] = [Math.round(percentile(waits, 0.5)), Math.round(percentile(waits, 1))];
  say("wake", { isDirect, jobs: waits.length, p50, max });
  expect(waits.length).toBe(jobs);
  expectSessions(fleet, isDirect);
}

describe.each([
  ["with directUrl", true],
  ["without directUrl", false],
] as const)("through a pooler in transaction mode, %s", (_, isDirect) => {
  test("three processes drain 3 000 jobs in order, with failures among them", async (context) => {
    await drainsInOrder(await pooled(context, isDirect), isDirect);
  }, 120_000);

  test("a signal drains a process; nothing is repeated", async (context) => {
    await drainsOnSignal(await pooled(context, isDirect), isDirect);
  }, 120_000);

  test("the keys of a killed process run elsewhere", async (context) => {
    await survivesKill(await pooled(context, isDirect), isDirect);
  }, 120_000);

  test("an idle worker starts a new job as soon as it can know of it", async (context) => {
    await wakes(await pooled(context, isDirect), isDirect);
  }, 120_000);
});
