import { expect, test } from "vitest";
import { now, openFleet } from "../support/fleet.js";
import { findingsOf, pausesOf, percentile } from "../support/history.js";
import { isLong } from "../support/length.js";
import { Load, untilDrained } from "../support/load.js";
import { setup } from "../support/world.js";

test("a rolling restart repeats nothing, loses nothing, keeps order, and pauses no key for long", async () => {
  const world = await setup();
  await world.queue();
  const fleet = openFleet(world);
  for (const id of ["w0", "w1", "w2", "w3"]) await fleet.add(id);
  const perSecond = isLong ? 1_000 : 400;
  const load = new Load(world, 200);
  load.start(perSecond, { workMs: 2 });
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const windows: { from: number; to: number }[] = [];
  for (let round = 0; round < (isLong ? 3 : 1); round++) {
    for (const old of fleet.alive()) {
      const from = now();
      expect(await fleet.drain(old)).toBe(0);
      await fleet.add(`${old.id}+`);
      windows.push({ from, to: now() + 500 });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
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
  process.stdout.write(`rolling restart: ${JSON.stringify(figures)}\n`);
  expect(figures.worstPauseP99).toBeLessThan(isLong ? 250 : 500);
}, 300_000);
