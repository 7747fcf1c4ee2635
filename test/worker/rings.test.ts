import { expect, test } from "vitest";
import { bucketsOf, ringLimit } from "../../src/membership/ring.js";
import { untilAgreed } from "../support/agreed-ring.js";
import { report } from "../support/figures.js";
import { now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { isLong } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { setup } from "../support/world.js";
import { until } from "./worker-world.js";

test("workers that each believe to be alone keep order and exclusivity all the same", async () => {
  const world = await setup();
  await world.queue();
  await world.sql(`create table leasehold.effects (key text, n int, token bigint)`);
  const fleet = openFleet(world, { seesOnlyItself: true });
  for (const id of ["w0", "w1", "w2"]) await fleet.add(id);
  const load = new Load(world, 40);
  const busy = (): ReadonlySet<string> => new Set(fleet.told.map((one) => one.worker));
  load.start(200, { workMs: 3, effect: true });
  const jobs = isLong ? 4_000 : 600;
  await until("all have worked, and enough was sent", () => load.enqueued >= jobs && busy().size === 3);
  await load.stop();
  await untilDrained(world);
  const owned = fleet.events.filter((one) => one.name === "ring:changed").map((one) => one.event.owned);
  expect(owned).toEqual([360, 360, 360]);
  const effects = await world.sql(`select key, n from leasehold.effects group by key, n having count(*) = 1`);
  expect(effects.length).toBe(load.enqueued);
  expect(findingsOf(fleet)).toEqual({ orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] });
  process.stdout.write(`three rings: ${JSON.stringify({ jobs: load.enqueued, workers: busy().size })}\n`);
}, 120_000);

test("from one worker to eight and back, nobody owns too much, little moves, and all agree because they are told", async () => {
  const world = await setup();
  await world.queue();
  // The ring is not read again by itself: who agrees was told of the change.
  const fleet = openFleet(world, { isUnpolled: true, ttlMs: 600_000 });
  const steps: {
    workers: number;
    most: number;
    limit: number;
    moved: number;
    factor: number;
    convergedMs: number;
  }[] = [];
  let before = (await world.lh.ring("inbox")).owners;
  const change = async (act: () => Promise<unknown>): Promise<void> => {
    const from = fleet.events.length;
    const askedAt = now();
    await act();
    // A join begins with its registration, not with the start of its process.
    const joined = fleet.events.slice(from).find((one) => one.name === "worker:registered");
    const changedAt = joined?.at ?? askedAt;
    const workers = fleet.alive().length;
    await untilAgreed(world, fleet);
    const ring = await world.lh.ring("inbox");
    const most = Math.max(...ring.members.map((id) => bucketsOf(ring, id).length));
    const moved = ring.owners.filter((owner, i) => owner !== before[i] && before[i] !== null).length;
    const larger = Math.max(workers, new Set(before).size);
    const last = Math.max(
      ...fleet.events
        .slice(from)
        .filter((one) => one.name === "ring:changed")
        .map((one) => one.at),
    );
    steps.push({
      workers,
      most,
      limit: ringLimit(360, workers),
      moved,
      factor: moved / (360 / larger),
      convergedMs: Math.max(0, last - changedAt),
    });
    before = ring.owners;
  };
  for (let i = 0; i < 8; i++) await change(() => fleet.add(`worker-host${i}-48${i}1`));
  for (let i = 0; i < 7; i++) {
    const [first] = fleet.alive();
    if (first !== undefined) await change(() => fleet.drain(first));
  }
  const worst = {
    load: Math.max(...steps.map((one) => one.most / (360 / one.workers))),
    factor: Math.max(...steps.map((one) => one.factor)),
    convergedMs: Math.max(...steps.map((one) => one.convergedMs)),
  };
  report("scale 1 to 8 to 1", worst, { convergedMs: 1_000 });
  for (const one of steps) {
    expect(one.most).toBeLessThanOrEqual(one.limit);
    expect(one.factor).toBeLessThanOrEqual(1.4);
  }
}, 120_000);
