import { expect, test } from "vitest";
import { report } from "../support/figures.js";
import { now, openFleet } from "../support/fleet.js";
import { findingsOf, pausesOf, percentile } from "../support/history.js";
import { isLong } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { setup } from "../support/world.js";
import { until } from "./worker-world.js";

test("a rolling restart repeats nothing, loses nothing, keeps order, and needs no poll to go on", async () => {
  const world = await setup();
  await world.queue();
  // Without polls, rows that are handed back run elsewhere only because somebody is told of them.
  const fleet = openFleet(world, { isUnpolled: true, ttlMs: 600_000 });
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  const perSecond = isLong ? 1_000 : 400;
  const load = new Load(world, 200);
  load.start(perSecond, { workMs: 2 });
  const hasStarted = (id: string): boolean => fleet.told.some((one) => one.worker === id);
  const windows: { from: number; to: number }[] = [];
  for (let round = 0; round < (isLong ? 3 : 1); round++) {
    for (const old of fleet.alive()) {
      await until("all work", () => fleet.alive().every((one) => hasStarted(one.id)));
      const from = now();
      expect(await fleet.drain(old)).toBe(0);
      await fleet.add(`${old.id}+`);
      windows.push({ from, to: now() + 500 });
    }
  }
  await load.stop();
  await untilDrained(world);
  const [archived] = await world.sql<{ count: number; attempts: number }>(
    `select count(*)::int as count, max(attempts)::int as attempts from leasehold.inbox_archive`,
  );
  expect(archived).toEqual({ count: load.enqueued, attempts: 1 });
  expect(findingsOf(fleet)).toEqual({ orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] });
  const worst: number[] = [];
  for (const pauses of pausesOf(fleet.told, load.committedAt).values()) {
    for (const { from, to } of windows) {
      const within = pauses.filter((one) => one.at >= from && one.at <= to).map((one) => one.pauseMs);
      if (within.length > 0) worst.push(Math.max(...within));
    }
  }
  const figures = {
    jobs: load.enqueued,
    perSecond,
    restarts: windows.length,
    worstPauseP50: percentile(worst, 0.5),
    worstPauseP99: percentile(worst, 0.99),
    max: Math.max(...worst),
  };
  report("rolling restart", figures, { worstPauseP99: 250 });
}, 300_000);
