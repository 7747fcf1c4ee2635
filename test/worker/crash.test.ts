import { expect, test } from "vitest";
import { ownersOf, untilAgreed } from "../support/agreed-ring.js";
import { report } from "../support/figures.js";
import { type Fleet, type FleetProcess, now, openFleet } from "../support/fleet.js";
import { findingsOf, percentile, startsOf } from "../support/history.js";
import { isFull } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/**
 * kill -9 of one of four workers under load, again and again: its keys run elsewhere, nothing is lost or out of order, what was written through
 * job.transaction is there once, and the keys of the others do not notice.
 */

const keys = 120;
const perSecond = 240;

async function world(): Promise<World> {
  const it = await setup();
  await it.queue();
  await it.sql(`create table leasehold.effects (key text, n int, token bigint)`);
  return it;
}

/** Where each key last started before the time given. */
function ownersAt(fleet: Fleet, at: number): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const one of fleet.told) if (one.is === "start" && one.at < at) owners.set(one.key, one.worker);
  return owners;
}

/** How long each key waited for its next start, counted from the kill. */
function waits(
  fleet: Fleet,
  killed: { readonly id: string; readonly at: number },
): { own: number[]; others: number[] } {
  const owners = ownersAt(fleet, killed.at);
  const own: number[] = [];
  const others: number[] = [];
  for (const [key, starts] of startsOf(fleet.told)) {
    const next = starts.find((one) => one.at > killed.at && one.worker !== killed.id);
    if (next === undefined) continue;
    (owners.get(key) === killed.id ? own : others).push(next.at - killed.at);
  }
  return { own, others };
}

/** Under load: kills one, waits until each of its keys has started elsewhere, replaces it, and so on. Resolves with the waits of all. */
async function afterKills(
  it: World,
  fleet: Fleet,
  kills: number,
): Promise<{ own: number[]; others: number[] }> {
  const load = new Load(it, keys);
  const figures = { own: [] as number[], others: [] as number[] };
  load.start(perSecond, { workMs: 5, effect: true });
  const hasStarted = (id: string): boolean => fleet.told.some((one) => one.worker === id);
  const killed: { id: string; at: number }[] = [];
  for (let i = 0; i < kills; i++) {
    await until("all work", () => fleet.alive().every((one) => hasStarted(one.id)));
    const victim = fleet.alive()[i % 4] as FleetProcess;
    const at = now();
    killed.push({ id: victim.id, at });
    await fleet.kill(victim);
    const own = [...ownersAt(fleet, at)].flatMap(([key, owner]) => (owner === victim.id ? [key] : []));
    expect(own.length).toBeGreaterThan(0);
    const goesOn = (key: string): boolean =>
      fleet.told.some((one) => one.key === key && one.at > at && one.worker !== victim.id);
    await until("its keys run elsewhere", () => own.every(goesOn));
    await fleet.add(`w${i + 4}`);
  }
  await load.stop();
  await untilDrained(it);
  for (const one of killed) {
    const { own, others } = waits(fleet, one);
    figures.own.push(...own);
    figures.others.push(...others);
  }
  await proveNothingLost(it, fleet, load);
  return figures;
}

async function proveNothingLost(it: World, fleet: Fleet, load: Load): Promise<void> {
  const effects = await it.sql<{ key: string; n: number; count: number }>(
    `select key, n, count(*)::int as count from leasehold.effects group by key, n`,
  );
  expect(effects.filter((one) => one.count > 1)).toEqual([]);
  expect(effects.length).toBe(load.enqueued);
  const findings = findingsOf(fleet, new Set(effects.map((one) => `${one.key} ${one.n}`)));
  expect(findings).toEqual({ orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] });
}

/** Neither a TTL nor a lease runs out during the test. */
const patient = { ttlMs: 600_000, leaseMs: 600_000 };

test("the keys of a killed worker run elsewhere because its session was seen to be gone, long before its TTL", async () => {
  const it = await world();
  const fleet = openFleet(it, patient);
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  const kills = isFull ? 30 : 2;
  const { own, others } = await afterKills(it, fleet, kills);
  const victims = fleet.processes.filter((one) => one.wasKilled).map((one) => one.id);
  const marked = fleet.events.flatMap(({ name, event }) => (name === "workers:lost" ? event.workerIds : []));
  expect(marked).toEqual(victims);
  const dead = await it.sql<{ id: string }>(
    "select id from leasehold.workers where status = 'dead' and last_seen_at + ttl > now() + interval '1 minute'",
  );
  expect(dead.map((one) => one.id).toSorted()).toEqual(victims.toSorted());
  const figures = {
    kills,
    keys: own.length,
    p50: percentile(own, 0.5),
    p99: percentile(own, 0.99),
    othersP99: percentile(others, 0.99),
    othersMax: Math.max(...others),
  };
  report("crash with session", figures, { p99: 3_000, othersMax: 2_000 });
}, 300_000);

test("without a session its TTL moves them, and the keys of the others never wait for that", async () => {
  const it = await world();
  // A direct connection that can't be made: no session, as behind a pooler.
  const fleet = openFleet(it, { ...patient, directUrl: "postgres://127.0.0.1:1/none" });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  await untilAgreed(it, fleet);
  const load = new Load(it, keys);
  await load.enqueue(2 * keys, { workMs: 5, effect: true });
  await untilDrained(it);
  const [victim] = fleet.alive();
  const owners = await ownersOf(it, load.keys);
  const own = load.keys.filter((key) => owners.get(key) === victim!.id);
  const others = load.keys.filter((key) => owners.get(key) !== victim!.id);
  await fleet.kill(victim!);
  await load.enqueue(keys, { effect: true });
  const hasRun = (key: string): boolean => fleet.told.some((one) => one.key === key && one.n === 2);
  await until("the keys of the others run", () => others.every(hasRun));
  expect(own.filter(hasRun)).toEqual([]);
  const isAlive = "select 1 from leasehold.workers where id = $1 and status = 'alive'";
  expect(await it.sql(isAlive, [victim!.id])).toHaveLength(1);
  await it.sql("update leasehold.workers set last_seen_at = now() - ttl where id = $1", [victim!.id]);
  await until("its keys run elsewhere", () => own.every(hasRun));
  await untilDrained(it);
  await proveNothingLost(it, fleet, load);
}, 300_000);

/** A figure, so only in the full proof. */
async function withoutSession(): Promise<void> {
  const it = await world();
  const ttlMs = 3_000;
  const fleet = openFleet(it, { heartbeatMs: 1_000, ttlMs, directUrl: "postgres://127.0.0.1:1/none" });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  const { own } = await afterKills(it, fleet, 10);
  const figures = { keys: own.length, p50: percentile(own, 0.5), p99: percentile(own, 0.99), ttlMs };
  report("crash without session", figures, { p99: ttlMs + 5_000 });
}

if (isFull) test("without a session they run elsewhere within the TTL and 5 s", withoutSession, 300_000);
