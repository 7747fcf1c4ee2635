import { describe, expect, test } from "vitest";
import { DatabaseRefusedError, DatabaseUnavailableError } from "../../../src/errors.js";
import { createEvents, type EventMap } from "../../../src/events.js";
import type { Failing } from "../../../src/membership/worker-record.js";
import { defaults } from "../../../src/settings.js";
import { Health } from "../../../src/work/health.js";

const denied = new DatabaseRefusedError("claim_jobs", "42501", "permission denied");

function scene() {
  let nowMs = 0;
  const world = { hasOthers: true };
  const told: (Failing | null)[] = [];
  const events = createEvents();
  const failing: EventMap["worker:failing"][] = [];
  const recovered: EventMap["worker:recovered"][] = [];
  events.on("worker:failing", (event) => failing.push(event));
  events.on("worker:recovered", (event) => recovered.push(event));
  const clock = {
    monotonicMs: () => nowMs,
    epochMs: () => nowMs,
    databaseNow: () => null,
    sleep: () => Promise.resolve(),
  };
  const random = { fraction: () => 0, bytes: () => new Uint8Array() };
  const health = new Health(
    { clock, random, events },
    {
      workerId: "a",
      queue: "inbox",
      hasOthers: () => world.hasOthers,
      onChange: (now) => told.push(now),
    },
  );
  const failClaims = (count: number): void => {
    for (let n = 0; n < count; n++) health.claimFailed(denied);
  };
  return { health, world, told, failing, recovered, failClaims, pass: (ms: number) => (nowMs += ms) };
}

describe("claims", () => {
  test("that fail a few times in a row make it fail, and one that works makes it well", () => {
    const { health, told, failing, recovered, failClaims } = scene();
    failClaims(defaults.claimFailuresMax - 1);
    health.claimed();
    failClaims(defaults.claimFailuresMax - 1);
    expect(health.failing).toBeNull();
    failClaims(2);
    expect(health.failing).toMatchObject({ what: "claim", reason: expect.stringContaining("42501") });
    expect(failing).toMatchObject([{ failures: defaults.claimFailuresMax, error: denied }]);
    health.claimed();
    expect(health.failing).toBeNull();
    expect(told).toEqual([expect.objectContaining({ what: "claim" }), null]);
    expect(recovered).toEqual([{ workerId: "a", queue: "inbox", what: "claim" }]);
  });

  test("that fail because the database is away, a lock is held or a race was lost do not count", () => {
    const { health } = scene();
    for (let n = 0; n < 100; n++) {
      health.claimFailed(new DatabaseUnavailableError("claim_jobs", false));
      for (const state of ["40001", "40P01", "55P03"])
        health.claimFailed(new DatabaseRefusedError("claim_jobs", state, "no"));
    }
    expect(health.failing).toBeNull();
  });
});

describe("settles", () => {
  test("of a few rows that fail make it fail; one row that fails over and over does not", () => {
    const { health } = scene();
    for (let n = 0; n < 100; n++) health.settleFailed("complete", "row 1", denied);
    health.settleFailed("complete", "row 2", denied);
    expect(health.failing).toBeNull();
    health.settleFailed("complete", "row 3", denied);
    expect(health.failing).toMatchObject({ what: "settle" });
  });

  test("of another sort that work prove nothing, and neither does a claim", () => {
    const { health } = scene();
    for (const row of ["1", "2", "3"]) {
      health.settleFailed("complete", row, denied);
      health.settled("other");
      health.claimed();
    }
    expect(health.failing).toMatchObject({ what: "settle" });
    health.settled("other");
    health.claimed();
    expect(health.failing).toMatchObject({ what: "settle" });
    health.settled("complete");
    expect(health.failing).toBeNull();
  });
});

describe("probes", () => {
  test("come after waits that grow up to a limit while others do the work", () => {
    const { health, pass, failClaims } = scene();
    failClaims(defaults.claimFailuresMax);
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      waits.push(health.probeInMs());
      pass(health.probeInMs());
      expect(health.probeInMs()).toBe(0);
      health.probing();
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test("do not become rarer while nobody does the work", () => {
    const { health, world, pass, failClaims } = scene();
    world.hasOthers = false;
    failClaims(defaults.claimFailuresMax);
    for (let n = 0; n < 5; n++) {
      expect(health.probeInMs()).toBe(defaults.failingProbeMs);
      pass(health.probeInMs());
      health.probing();
    }
  });

  test("of one that fails again soon go on with the longer waits; later they begin anew", () => {
    const { health, pass, failClaims } = scene();
    failClaims(defaults.claimFailuresMax);
    health.probing();
    health.probing();
    health.claimed();
    pass(1_000);
    failClaims(defaults.claimFailuresMax);
    expect(health.probeInMs()).toBe(8_000);
    health.claimed();
    pass(defaults.failingProbeMsMax + 1);
    failClaims(defaults.claimFailuresMax);
    expect(health.probeInMs()).toBe(defaults.failingProbeMs);
  });
});
