import { expect, test } from "vitest";
import { report } from "../support/figures.js";
import { now } from "../support/fleet.js";
import { TenantFleet } from "../support/tenant-fleet.js";
import { setup } from "../support/world.js";
import { until } from "./worker-world.js";

/** Fleets of processes that run tenants: how evenly, what moves when one comes or goes, and how long tenants stand still. */

/** With a TTL that outlasts the test: who is gone was seen to be gone, by his session or because he said so. */
const timing = { heartbeatMs: 1_000, ttlMs: 600_000, tickMs: 1_000, startupMs: 1_500 };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Change {
  /** Of the tenants, in parts of an even share. */
  readonly moved: number;
  /** Until every tenant ran again, by the clock of the processes; 0 when none stood still. */
  readonly stillMs: number;
}

/** Does something to the fleet, waits until it is at rest again, and says what moved. `act` resolves with the moment that counts. */
async function change(fleet: TenantFleet, rest: () => boolean, act: () => Promise<number>): Promise<Change> {
  const before = fleet.owners();
  const runsBefore = fleet.runs.length;
  const size = fleet.processes.size;
  const at = await act();
  await until("every tenant runs, in even shares", () => fleet.isComplete() && rest(), 60_000);
  await sleep(2.5 * timing.tickMs); // Nothing moves later, either.
  const after = fleet.owners();
  expect(after.size).toBe(fleet.tenants);
  const moved = [...after].filter(([tenant, owner]) => before.get(tenant) !== owner).length;
  const lastStart = Math.max(at, ...fleet.runs.slice(runsBefore).map(({ from }) => from));
  const even = fleet.tenants / Math.max(size, fleet.processes.size);
  return { moved: moved / even, stillMs: Math.round(lastStart - at) };
}

async function fleetOf(workers: number, tenants: number, more = {}): Promise<TenantFleet> {
  const world = await setup();
  const fleet = new TenantFleet(world, { ...timing, tenants, ...more });
  await Promise.all(Array.from({ length: workers }, (_, n) => fleet.add(`w${n}`)));
  await until("every tenant runs", () => fleet.isComplete(), 60_000);
  return fleet;
}

test("1 000 tenants on 10 processes: even within a tenth; one more, one less and one killed move about their share, long before any TTL", async () => {
  const fleet = await fleetOf(10, 1_000);
  await until("they are even", () => fleet.unevenness() <= 0.1);
  const evenness = fleet.unevenness();
  const isEven = (): boolean => fleet.unevenness() <= 0.1;
  const added = await change(fleet, isEven, async () => {
    await fleet.add("w10");
    return now();
  });
  const drained = await change(fleet, isEven, () => fleet.drain(fleet.processes.get("w3")!));
  const killed = await change(fleet, isEven, () => fleet.kill(fleet.processes.get("w7")!));
  const figures = { evenness, added: added.moved, drained, killed };
  process.stdout.write(`tenants 1000/10: ${JSON.stringify(figures)}\n`);
  const still = { drainedMs: drained.stillMs, killedMs: killed.stillMs };
  report("tenants 1000/10, standing still", still, { drainedMs: 3_000, killedMs: 3_000 });
  expect(evenness).toBeLessThanOrEqual(0.1);
  for (const { moved } of [added, drained, killed]) expect(moved).toBeLessThanOrEqual(1.4);
  expect(fleet.overlaps()).toEqual([]);
  expect(fleet.fallingTokens()).toEqual([]);
}, 180_000);

test("100 tenants on 10 processes are even within 30 %, and 100 on 2 within a tenth", async () => {
  const ten = await fleetOf(10, 100);
  await until("they are even", () => ten.unevenness() <= 0.3);
  const two = await fleetOf(2, 100);
  await until("they are even", () => two.unevenness() <= 0.1);
  process.stdout.write(
    `tenants 100/10: ${JSON.stringify({ ten: ten.unevenness(), two: two.unevenness() })}\n`,
  );
  expect([...ten.overlaps(), ...two.overlaps()]).toEqual([]);
}, 120_000);

test("without sessions the tenants of a killed process run again when its TTL is over", async () => {
  const ttlMs = 5_000;
  // A direct connection that can't be made: no session, as behind a pooler.
  const fleet = await fleetOf(4, 100, { ttlMs, directUrl: "postgres://127.0.0.1:1/none" });
  await until("they are even", () => fleet.unevenness() <= 0.1);
  const killed = await change(
    fleet,
    () => fleet.unevenness() <= 0.1,
    () => fleet.kill(fleet.processes.get("w1")!),
  );
  report("tenants without sessions", killed, { stillMs: ttlMs + timing.tickMs });
  expect(killed.moved).toBeLessThanOrEqual(1.4);
  expect(fleet.overlaps()).toEqual([]);
}, 120_000);
