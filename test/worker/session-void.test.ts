import { expect, onTestFinished, test } from "vitest";
import { blackHoleProxy } from "../support/black-hole-proxy.js";
import { type Fleet, now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { setup } from "../support/world.js";

/** What a lost session must not cost: the rows in hand of a process that lives, and the fleet's watcher. */

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
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
  await sleep(3_000);
  const at = now();
  proxy.swallow();
  proxy.dropServerEnds();
  await sleep(20_000);
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

test("a fleet whose watcher's session is in the void elects another, and notices a crash in 3 s", async () => {
  const world = await setup();
  await world.queue();
  const proxy = await blackHoleProxy(world.url);
  onTestFinished(() => proxy.close());
  const fleet = openFleet(world);
  await fleet.add("a", { directUrl: proxy.url });
  await fleet.add("b");
  const victim = await fleet.add("c");
  await sleep(1_500);
  proxy.swallow();
  await sleep(8_000);
  proxy.letThrough();
  await sleep(12_000);
  const killedAt = now();
  await fleet.kill(victim);
  const isDead = async (): Promise<boolean> =>
    (await world.sql("select 1 from leasehold.workers where id = 'c' and status = 'dead'")).length > 0;
  while (!(await isDead()) && now() - killedAt < 40_000) await sleep(50);
  const noticedMs = Math.round(now() - killedAt);
  process.stdout.write(`watcher in the void: ${JSON.stringify({ noticedMs })}\n`);
  expect(noticedMs).toBeLessThan(3_000);
}, 120_000);
