import { expect, onTestFinished, test } from "vitest";
import { type BlackHoleProxy, blackHoleProxy } from "../support/black-hole-proxy.js";
import { report } from "../support/figures.js";
import { type Fleet, type FleetProcess, now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/**
 * The connection of a worker's session leads nowhere from one moment on, without being closed: no notification arrives, and nobody says so. The worker
 * notices by itself, polls meanwhile, and is woken again once a new session gets through. The pool's connections are not affected.
 */

interface Scene {
  readonly world: World;
  readonly proxy: BlackHoleProxy;
  readonly fleet: Fleet;
  readonly load: Load;
  readonly victim: FleetProcess;
}

/** The victim's session goes through the proxy; those before it in the alphabet are the watcher and its deputy. */
async function scene(companions: readonly string[]): Promise<Scene> {
  const world = await setup();
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world, { isUnpolled: true, ttlMs: 600_000 });
  for (const id of companions) await fleet.add(id);
  const victim = await fleet.add("victim", { directUrl: proxy.url });
  return { world, proxy, fleet, victim, load: new Load(world, 64) };
}

/** When the victim first told this after the time given. */
async function toldAt({ fleet, victim }: Scene, name: string, after: number): Promise<number> {
  for (const lateAt = now() + 60_000; now() < lateAt; ) {
    const found = fleet.events.find(
      (one) => one.worker === victim.id && one.name === name && one.at >= after,
    );
    if (found !== undefined) return found.at;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`The victim did not tell ${name}.`);
}

/** One job after another, each sent when the one before has started: jobs that wait for a wake which does not come would never end. */
async function enqueueOneByOne({ fleet, load }: Scene, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const before = fleet.told.filter((one) => one.is === "start").length;
    await load.enqueue(1);
    const hasStarted = (): boolean => fleet.told.filter((one) => one.is === "start").length > before;
    await until(`job ${i} has started`, hasStarted);
  }
}

/** Polls are held while wakes arrive, and come while they do not: well, in the hole, noticed, let through, well again. */
async function runCourse(it: Scene, what: string): Promise<void> {
  const { fleet, proxy, victim } = it;
  await until("all are asleep", () => fleet.isAsleep());
  await enqueueOneByOne(it, 20);
  const swallowedAt = now();
  proxy.swallow();
  for (const one of fleet.alive()) fleet.tell(one, "release polls");
  await enqueueOneByOne(it, 12);
  const lostAt = await toldAt(it, "session:lost", swallowedAt);
  await enqueueOneByOne(it, 6);
  const letThroughAt = now();
  proxy.letThrough();
  const openedAt = await toldAt(it, "session:opened", letThroughAt);
  for (const one of fleet.alive()) fleet.tell(one, "hold polls");
  const heldAt = now();
  await until("all are asleep again", () => fleet.isAsleep(heldAt));
  const before = fleet.told.length;
  await enqueueOneByOne(it, 20);
  expect(fleet.told.slice(before).map((one) => one.worker)).toContain(victim.id);
  await untilDrained(it.world);
  const figures = {
    noticedMs: Math.round(lostAt - swallowedAt),
    reopenedMs: Math.round(openedAt - letThroughAt),
    tries: proxy.swallowed() - 1,
  };
  report(`black hole, ${what}`, figures, { noticedMs: 15_000, reopenedMs: 13_000 });
}

async function proveAllDoneOnce({ world, fleet, load }: Scene): Promise<void> {
  const [archived] = await world.sql<{ count: number; attempts: number }>(
    `select count(*)::int as count, max(attempts)::int as attempts from leasehold.inbox_archive`,
  );
  expect(archived).toEqual({ count: load.enqueued, attempts: 1 });
  expect(findingsOf(fleet)).toEqual({ orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] });
}

test("a session into the void is noticed and replaced; meanwhile jobs are polled for, then they wake again", async () => {
  const it = await scene([]);
  await runCourse(it, "alone");
  await proveAllDoneOnce(it);
}, 180_000);

test("so it is for one that neither watches over others nor is next in turn to do so", async () => {
  const it = await scene(["a-watcher", "b-deputy"]);
  await runCourse(it, "one of three");
  await proveAllDoneOnce(it);
}, 180_000);
