import { expect, onTestFinished, test } from "vitest";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { report } from "../support/figures.js";
import { type Fleet, now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { setup } from "../support/world.js";
import { until } from "./worker-world.js";

/** What a lost session must not cost: the rows in hand of a process that lives, and the fleet's watcher. */

const watchersOf = "select id from leasehold.workers where is_watcher and status = 'alive'";
const count = (fleet: Fleet, name: string, after: number): number =>
  fleet.events.filter((one) => one.name === name && one.at > after).length;

test("a live worker whose session is gone and can't be opened again is taken for dead once at most", async () => {
  const world = await setup();
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world);
  for (const id of ["a", "b"]) await fleet.add(id);
  await fleet.add("victim", { directUrl: proxy.url });
  const load = new Load(world, 64);
  load.start(100, { workMs: 200 });
  await until("it works", () => fleet.told.some((one) => one.worker === "victim"));
  const at = now();
  const before = proxy.swallowed();
  proxy.swallow();
  proxy.dropServerEnds();
  // Each try to open a session takes longer than the watcher needs to mark somebody dead.
  await until("it has tried in vain, twice", () => proxy.swallowed() >= before + 3);
  const [row] = await world.sql("select status, has_session from leasehold.workers where id = 'victim'");
  expect(row).toEqual({ status: "alive", has_session: false });
  await load.stop();
  await untilDrained(world);
  const { overlaps, orderBreaks } = findingsOf(fleet);
  const figures = {
    marked: count(fleet, "workers:lost", at),
    leasesLost: count(fleet, "lease:lost", at),
    overlaps: overlaps.length,
    orderBreaks: orderBreaks.length,
    crashes: await world.sql(
      "select crashes, count(*)::int from leasehold.inbox_archive group by 1 order by 1",
    ),
  };
  process.stdout.write(`session gone: ${JSON.stringify(figures)}\n`);
  expect(figures.marked).toBeLessThanOrEqual(1);
}, 120_000);

test("a fleet whose watcher's session is in the void elects another, which notices a crash by the session", async () => {
  const world = await setup();
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world, { ttlMs: 600_000 });
  await fleet.add("a", { directUrl: proxy.url });
  await fleet.add("b");
  const victim = await fleet.add("c");
  const watchers = async (): Promise<readonly string[]> =>
    (await world.sql<{ id: string }>(watchersOf)).map(({ id }) => id);
  await until("a watches", async () => (await watchers()).includes("a"));
  proxy.swallow();
  await until("another watches", async () => (await watchers()).some((id) => id !== "a"));
  proxy.letThrough();
  const letThroughAt = now();
  await until("a has a session again", () => count(fleet, "session:opened", letThroughAt) > 0);
  const killedAt = now();
  await fleet.kill(victim);
  const lost = (): readonly unknown[] =>
    fleet.events.filter((one) => one.name === "workers:lost").map(({ event }) => event.workerIds);
  await until("it is marked, long before its TTL", () => lost().length > 0);
  report("watcher in the void", { noticedMs: Math.round(now() - killedAt) }, { noticedMs: 3_000 });
  expect(lost()).toEqual([["c"]]);
}, 180_000);
