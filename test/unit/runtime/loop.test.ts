import { expect, test } from "vitest";
import { createEvents } from "../../../src/events.js";
import type { Activity } from "../../../src/runtime/activity.js";
import { Loop } from "../../../src/runtime/loop.js";
import { defaults } from "../../../src/settings.js";

/** How long a loop waits after each of so many passes that fail. */
async function waitsOf(activity: Omit<Activity, "name" | "run">, passes: number): Promise<readonly number[]> {
  const waits: number[] = [];
  const clock = {
    monotonicMs: () => 0,
    epochMs: () => 0,
    databaseNow: () => null,
    sleep: async (ms: number) => {
      waits.push(ms);
      if (waits.length === passes) void loop.stop();
    },
  };
  const random = { fraction: () => 1, bytes: () => new Uint8Array() };
  const run = () => Promise.reject(new Error("the database is away"));
  const loop = new Loop({ clock, random, events: createEvents() }, { name: "test", run, ...activity });
  loop.start();
  while (waits.length < passes) await Promise.resolve();
  return waits;
}

test("the wait after a pass that failed grows up to the limit of all loops", async () => {
  const waits = await waitsOf({}, 12);
  expect(waits[0]).toBeLessThan(waits[1] ?? 0);
  expect(Math.max(...waits)).toBe(defaults.loopBackoffMsMax);
});

test("an activity can have a lower limit of its own", async () => {
  expect(Math.max(...(await waitsOf({ backoffMsMax: 90 }, 12)))).toBe(90);
});
