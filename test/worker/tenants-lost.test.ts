import { expect, test } from "vitest";
import { now } from "../support/fleet.js";
import { TenantFleet } from "../support/tenant-fleet.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/** Processes that lose their tenants while they live: frozen past their TTL, evicted by a person, replaced by another of their id. */

const timing = { heartbeatMs: 500, ttlMs: 2_000, tickMs: 1_000, startupMs: 500 };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const unsettled = "select 1 from leasehold.workers where now() - alive_since < interval '2 s'";

/** When the registry's TTL of this worker is over, by the database's clock. */
async function ttlEndOf(world: World, id: string): Promise<string> {
  const [row] = await world.sql<{ ends: string }>(
    "select (last_seen_at + ttl)::text as ends from leasehold.workers where id = $1",
    [id],
  );
  return row!.ends;
}

/** Of these tenants, those whose leases were won before the time given, by the database's clock. */
async function wonBefore(world: World, at: string, tenants: readonly string[]): Promise<readonly unknown[]> {
  const text =
    "select tenant from leasehold.tenant_leases where since < $1::timestamptz and tenant = any($2)";
  return await world.sql(text, [at, tenants]);
}

test("a frozen owner that wakes up acts for no tenant any more, and its old token is refused", async () => {
  const world = await setup();
  const fleet = new TenantFleet(world, { ...timing, tenants: 30, actMs: 10, writesStale: true });
  const frozen = await fleet.add("frozen");
  await Promise.all([fleet.add("b"), fleet.add("c")]);
  await until("every tenant runs", () => fleet.isComplete());
  await until("they are even", () => fleet.unevenness() <= 0.1);
  const held = [...fleet.owners()].flatMap(([tenant, owner]) => (owner === "frozen" ? [tenant] : []));
  expect(held.length).toBeGreaterThan(8);
  frozen.child.kill("SIGSTOP");
  const stoppedAt = now();
  const isTaken = (tenant: string): boolean =>
    fleet.runs.some((run) => run.tenant === tenant && run.worker !== "frozen" && run.from > stoppedAt);
  await until("others run what it had", () => held.every(isTaken));
  const takenAfterMs = Math.max(
    ...fleet.runs.filter(({ tenant }) => held.includes(tenant)).map(({ from }) => from - stoppedAt),
  );
  await sleep(300);
  const wokenAt = now();
  frozen.child.kill("SIGCONT");
  const lost = fleet.runs.filter((run) => run.worker === "frozen" && run.from < stoppedAt);
  const mine = (tenant: string): boolean => held.includes(tenant);
  await until("it has ended them all", () =>
    lost.filter((run) => mine(run.tenant)).every((run) => run.to !== null),
  );
  await until("its writes were refused", () => held.every((tenant) => frozen.refused.includes(tenant)));
  await sleep(500);
  const late = lost.flatMap(({ tenant, acts }) =>
    acts.filter((at) => at >= wokenAt).map((at) => `${tenant} at ${at - wokenAt}`),
  );
  process.stdout.write(
    `tenants frozen: ${JSON.stringify({ held: held.length, takenAfterMs, late: late.length })}\n`,
  );
  expect(late).toEqual([]);
  expect(
    lost
      .filter(({ tenant }) => mine(tenant))
      .every(({ abortedAt }) => abortedAt !== null && abortedAt >= wokenAt),
  ).toBe(true);
  expect(fleet.fallingTokens()).toEqual([]);
}, 90_000);

test("an evicted process ends its tenants, others go on with them, none runs twice, and it is back under a higher generation", async () => {
  const world = await setup();
  const fleet = new TenantFleet(world, { ...timing, tickMs: 2_000, tenants: 60, endMs: 150 });
  const evicted = await fleet.add("a");
  await Promise.all([fleet.add("b"), fleet.add("c")]);
  await until("every tenant runs", () => fleet.isComplete());
  await until("they are even", () => fleet.unevenness() <= 0.1);
  // While nobody is settled, the evicted one would be as good as any.
  await until("all are settled", async () => (await world.sql(unsettled)).length === 0);
  const held = [...fleet.owners()].flatMap(([tenant, owner]) => (owner === "a" ? [tenant] : []));
  const before = BigInt(evicted.events.findLast(({ name }) => name === "worker:registered")?.generation ?? 0);
  const at = now();
  await world.sql("delete from leasehold.worker_lease where worker_id = 'a'");
  const startsElsewhere = (tenant: string): readonly number[] =>
    fleet.runs
      .filter((run) => run.tenant === tenant && run.worker !== "a" && run.from > at)
      .map(({ from }) => from);
  const isElsewhere = (): boolean => held.every((tenant) => startsElsewhere(tenant).length > 0);
  await until("others run what it had", isElsewhere);
  const movedMs = Math.round(Math.max(...held.map((tenant) => Math.min(...startsElsewhere(tenant)))) - at);
  const generation = BigInt(
    evicted.events.findLast(({ name }) => name === "worker:registered")?.generation ?? 0,
  );
  expect(generation).toBeGreaterThan(before);
  await until("it has its share again", () => fleet.isComplete() && fleet.unevenness() <= 0.1);
  process.stdout.write(`tenants evicted: ${JSON.stringify({ held: held.length, movedMs })}\n`);
  expect(fleet.overlaps()).toEqual([]);
  expect(fleet.fallingTokens()).toEqual([]);
}, 90_000);

test("a frozen process that somebody evicts keeps its tenants from others until its TTL is over, and no longer", async () => {
  const world = await setup();
  const fleet = new TenantFleet(world, { ...timing, tenants: 30, actMs: 10 });
  const stuck = await fleet.add("a");
  await fleet.add("b");
  await until("every tenant runs", () => fleet.isComplete() && fleet.unevenness() <= 0.1);
  const held = [...fleet.owners()].flatMap(([tenant, owner]) => (owner === "a" ? [tenant] : []));
  stuck.child.kill("SIGSTOP");
  const at = now();
  const ttlEnd = await ttlEndOf(world, "a");
  await world.sql("delete from leasehold.worker_lease where worker_id = 'a'");
  const taken = (): number[] =>
    fleet.runs.filter((run) => held.includes(run.tenant) && run.from > at).map(({ from }) => from - at);
  await until("others run what it had", () => taken().length === held.length);
  process.stdout.write(
    `tenants stuck: ${JSON.stringify({ firstMs: Math.min(...taken()), lastMs: Math.max(...taken()) })}\n`,
  );
  expect(await wonBefore(world, ttlEnd, held)).toEqual([]);
  stuck.child.kill("SIGCONT");
  await until("it is a member again", () => fleet.isComplete() && fleet.unevenness() <= 0.1);
  expect(fleet.fallingTokens()).toEqual([]);
}, 90_000);

test("a process that is killed and started again under its id goes on with its tenants, and those of others stay", async () => {
  const world = await setup();
  const fleet = new TenantFleet(world, { ...timing, ttlMs: 6_000, tickMs: 4_000, tenants: 60 });
  const first = await fleet.add("a");
  await Promise.all([fleet.add("b"), fleet.add("c")]);
  await until("every tenant runs", () => fleet.isComplete() && fleet.unevenness() <= 0.1);
  const before = fleet.owners();
  const earlier = fleet.runs.length;
  for (let restarts = 0; restarts < 3; restarts++) {
    await fleet.kill(fleet.processes.get("a") ?? first);
    await fleet.add("a");
    await sleep(1_000);
  }
  await until("every tenant runs", () => fleet.isComplete());
  const moved = fleet.runs
    .slice(earlier)
    .filter(({ tenant, worker }) => before.get(tenant) !== "a" && before.get(tenant) !== worker);
  expect(moved).toEqual([]);
  expect(fleet.overlaps()).toEqual([]);
  expect(fleet.fallingTokens()).toEqual([]);
}, 90_000);

test("a process that takes the id of a frozen one waits until the other's TTL is over, and the frozen one acts no more", async () => {
  const world = await setup();
  const fleet = new TenantFleet(world, {
    ...timing,
    heartbeatMs: 1_000,
    ttlMs: 4_000,
    tenants: 20,
    actMs: 10,
  });
  const frozen = await fleet.add("a");
  await until("every tenant runs", () => fleet.isComplete());
  frozen.child.kill("SIGSTOP");
  const stoppedAt = now();
  const ttlEnd = await ttlEndOf(world, "a");
  await fleet.add("a");
  const later = (): readonly number[] =>
    fleet.runs.filter(({ from }) => from > stoppedAt).map(({ from }) => from - stoppedAt);
  await until("the new one runs them all", () => later().length === fleet.tenants);
  const figures = { firstMs: Math.min(...later()), lastMs: Math.max(...later()) };
  process.stdout.write(`tenants replaced: ${JSON.stringify(figures)}\n`);
  expect(await wonBefore(world, ttlEnd, [...fleet.owners().keys()])).toEqual([]);
  const wokenAt = now();
  frozen.child.kill("SIGCONT");
  const lost = fleet.runs.filter(({ from }) => from < stoppedAt);
  await until("the old one has given way", () => lost.every(({ to }) => to !== null));
  const acts = lost.flatMap((run) => run.acts);
  expect(acts.filter((at) => at >= wokenAt)).toEqual([]);
  expect(fleet.fallingTokens()).toEqual([]);
}, 60_000);
