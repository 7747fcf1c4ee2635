import { expect, onTestFinished, test } from "vitest";
import { type BlackHoleProxy, blackHoleProxy } from "../support/black-hole-proxy.js";
import { type Fleet, type FleetProcess, now, openFleet } from "../support/fleet.js";
import { findingsOf, pausesOf, percentile } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { setup, type World } from "../support/world.js";

/**
 * The connection of a worker's session leads nowhere from one moment on, without being closed: no notification arrives, and nobody says so. The worker
 * notices by itself, polls meanwhile, and is woken again once a new session gets through. The pool's connections are not affected.
 */

const noticeLimitMs = 15_000;
const pollMs = 2_000;
/** A try that is under way may have been swallowed; it is given up after 10 s. */
const reopenLimitMs = 13_000;

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
  const fleet = openFleet(world);
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

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One job every quarter of a second until told to stop. */
function enqueueSteadily(load: Load): () => Promise<void> {
  let isOn = true;
  const running = (async () => {
    while (isOn) {
      await load.enqueue(1);
      await sleep(250);
    }
  })();
  return async () => {
    isOn = false;
    await running;
  };
}

interface Course {
  readonly swallowedAt: number;
  readonly lostAt: number;
  readonly letThroughAt: number;
  readonly openedAt: number;
  readonly stoppedAt: number;
}

/** The whole course: well, in the hole, noticed, let through, well again. */
async function runCourse(it: Scene): Promise<Course> {
  const stop = enqueueSteadily(it.load);
  await sleep(3_000);
  const swallowedAt = now();
  it.proxy.swallow();
  const lostAt = await toldAt(it, "session:lost", swallowedAt);
  await sleep(4_000);
  const letThroughAt = now();
  it.proxy.letThrough();
  const openedAt = await toldAt(it, "session:opened", letThroughAt);
  await sleep(4_000);
  await stop();
  const stoppedAt = now();
  await untilDrained(it.world);
  return { swallowedAt, lostAt, letThroughAt, openedAt, stoppedAt };
}

/** What jobs waited from their commit to their start, by when they committed. */
function waitsBetween({ fleet, load }: Scene, from: number, to: number): readonly number[] {
  const waits: number[] = [];
  for (const pauses of pausesOf(fleet.told, load.committedAt).values()) {
    for (const { at, pauseMs } of pauses) if (at - pauseMs >= from && at - pauseMs < to) waits.push(pauseMs);
  }
  return waits;
}

const rounded = (values: readonly number[], share: number): number => Math.round(percentile(values, share));

function judge(it: Scene, course: Course, what: string): void {
  const { swallowedAt, lostAt, letThroughAt, openedAt, stoppedAt } = course;
  const before = waitsBetween(it, 0, swallowedAt);
  const during = waitsBetween(it, swallowedAt, openedAt + 500);
  const after = waitsBetween(it, openedAt + 500, stoppedAt);
  const figures = {
    noticedMs: Math.round(lostAt - swallowedAt),
    reopenedMs: Math.round(openedAt - letThroughAt),
    tries: it.proxy.swallowed() - 1,
    before: { jobs: before.length, p50: rounded(before, 0.5), max: rounded(before, 1) },
    during: { jobs: during.length, p50: rounded(during, 0.5), max: rounded(during, 1) },
    after: { jobs: after.length, p50: rounded(after, 0.5), max: rounded(after, 1) },
  };
  process.stdout.write(`black hole, ${what}: ${JSON.stringify(figures)}\n`);
  expect(figures.noticedMs).toBeLessThan(noticeLimitMs);
  expect(figures.reopenedMs).toBeLessThan(reopenLimitMs);
  expect(during.length).toBeGreaterThan(20);
  expect(figures.during.max).toBeLessThan(pollMs + 1_000);
  expect(after.length).toBeGreaterThan(8);
  expect(figures.after.p50).toBeLessThan(100);
  expect(figures.after.max).toBeLessThan(1_000);
}

async function proveAllDoneOnce({ world, fleet, load }: Scene): Promise<void> {
  const [archived] = await world.sql<{ count: number; attempts: number }>(
    `select count(*)::int as count, max(attempts)::int as attempts from leasehold.inbox_archive`,
  );
  expect(archived).toEqual({ count: load.enqueued, attempts: 1 });
  expect(findingsOf(fleet)).toEqual({ orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] });
}

test("a session into the void is noticed and replaced; meanwhile no job waits longer than a poll", async () => {
  const it = await scene([]);
  const course = await runCourse(it);
  judge(it, course, "alone");
  await proveAllDoneOnce(it);
}, 120_000);

test("so it is for one that neither watches over others nor is next in turn to do so", async () => {
  const it = await scene(["a-watcher", "b-deputy"]);
  const course = await runCourse(it);
  judge(it, course, "one of three");
  await proveAllDoneOnce(it);
}, 120_000);
