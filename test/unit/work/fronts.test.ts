import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { ClaimedRow } from "../../../src/work/claimed-row.js";
import { type FrontPlan, Fronts } from "../../../src/work/fronts.js";

const shares = {
  queue: "inbox",
  workerId: "a",
  token: 1n,
  claimedAt: new Date(0),
  leaseExpiresAt: new Date(0),
  complete: () => async () => Promise.reject(new Error("not in this test")),
};

const row = (bucket: number, dueMs: number, seq: number): ClaimedRow =>
  new ClaimedRow(
    {
      id: `row-${seq}`,
      seq: String(seq),
      kind: "k",
      payload: null,
      headers: null,
      partition_key: "key",
      partition_bucket: bucket,
      attempts: 1,
      crashes: null,
      max_attempts: 5,
      priority: 3,
      claimed_ms: null,
      expires_ms: null,
      lease_generation: null,
      available_ms: null,
      created_ms: dueMs,
      idempotency_key: null,
      last_error: null,
    },
    shares,
  );

const pass = (
  jobs: readonly ClaimedRow[],
  fronts: ReadonlyMap<number, string> = new Map(),
): Parameters<Fronts["note"]>[0] => ({ jobs, fronts, ends: new Map() });

/** Looks at these buckets and takes a row of each, whose position is 3:0:<bucket>; the first unfinished row was right behind 3:0:0. */
const look = (
  fronts: Fronts,
  positions: Map<number, string>,
  how: { readonly buckets: readonly number[]; readonly nowMs: number; readonly tookMs?: number },
): FrontPlan => {
  const { buckets, nowMs, tookMs = 1 } = how;
  const plan = fronts.plan(buckets, positions, { nowMs, unsure: new Set() });
  const found = pass(
    buckets.map((bucket) => row(bucket, 0, bucket)),
    new Map(plan.fronted.map((bucket) => [bucket, "3:0:0"])),
  );
  fronts.note(found, positions, { plan, tookMs, nowMs, owned: 360 });
  return plan;
};

const buckets = Array.from({ length: 30 }, (_, i) => i + 1);

test("a position is the last row of its bucket, to the microsecond", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  const jobs = [
    row(1, 1_795_312_863_123.456, 7),
    row(2, 1_795_312_863_124, 8),
    row(1, 1_795_312_863_125.001, 9),
  ];
  const plan = fronts.plan([1, 2], positions, { nowMs: 0, unsure: new Set() });
  fronts.note(pass(jobs), positions, { plan, tookMs: 5, nowMs: 0, owned: 360 });
  expect([...positions]).toEqual([
    [1, "3:1795312863125001:9"],
    [2, "3:1795312863124000:8"],
  ]);
  expect(fronts.plan([1, 2], positions, { nowMs: 1, unsure: new Set() })).toEqual({
    after: positions,
    fronted: [],
    far: [],
  });
});

test("each bucket is looked at from the front once a second", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  expect(look(fronts, positions, { buckets: [1], nowMs: 0 }).after).toEqual(new Map([[1, "~"]]));
  expect(look(fronts, positions, { buckets: [1], nowMs: 999 }).after).toEqual(new Map([[1, "3:0:1"]]));
  expect(look(fronts, positions, { buckets: [1], nowMs: 1_000 }).after).toEqual(new Map([[1, "~"]]));
});

test("where that has become dear it gets a twentieth of the time, and once a second a pass begins at the first unfinished row", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets, nowMs: 0 });
  look(fronts, positions, { buckets, nowMs: 1, tookMs: 10 });
  // 30 of 360 buckets take 59 ms longer than usual: all of them would take 0.71 s.
  look(fronts, positions, { buckets, nowMs: 1_000, tookMs: 70 });
  const near = look(fronts, positions, { buckets, nowMs: 2_000, tookMs: 10 });
  expect(near).toMatchObject({ fronted: buckets, far: [] });
  expect([...new Set(near.after.values())]).toEqual(["~3:0:0"]);
  expect(look(fronts, positions, { buckets, nowMs: 2_999, tookMs: 10 }).fronted).toEqual([]);
  expect(look(fronts, positions, { buckets, nowMs: 15_140, tookMs: 10 }).far).toEqual([]);
  expect(look(fronts, positions, { buckets, nowMs: 15_160, tookMs: 10 }).far).not.toEqual([]);
});

test("a pass takes no more dear looks upon itself than it has time for, the longest overdue first", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets, nowMs: 0 });
  look(fronts, positions, { buckets, nowMs: 1, tookMs: 10 });
  look(fronts, positions, { buckets, nowMs: 1_000, tookMs: 70 }); // 2 ms each
  expect(defaults.frontMsPerPass).toBe(20);
  const dear = { buckets, tookMs: 30 }; // 20 ms more
  expect(look(fronts, positions, { ...dear, nowMs: 20_000 }).far).toEqual(buckets.slice(0, 10));
  expect(look(fronts, positions, { ...dear, nowMs: 20_050 }).far).toEqual(buckets.slice(10, 20));
  expect(look(fronts, positions, { ...dear, nowMs: 90_000 }).far).toEqual(buckets.slice(20));
});

test("a look into a few buckets does not make the front dear", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets, nowMs: 0 });
  look(fronts, positions, { buckets: [1], nowMs: 1_000, tookMs: 50 });
  expect(look(fronts, positions, { buckets: [1], nowMs: 2_000 }).far).toEqual([1]);
});

test("where rows may carry our name a pass begins at the very front", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets: [1, 2], nowMs: 0 });
  const plan = fronts.plan([1, 2], positions, { nowMs: 1, unsure: new Set([2, 3]) });
  expect([...plan.after]).toEqual([
    [1, "3:0:1"],
    [2, "~"],
  ]);
});

test("when everything is to be looked at again, all begin at the very front", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets: [1, 2], nowMs: 0 });
  fronts.lookAgain();
  expect(look(fronts, positions, { buckets: [1, 2], nowMs: 1 }).far).toEqual([1, 2]);
});

test("however dear it is, nothing hides for longer than a minute", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  look(fronts, positions, { buckets, nowMs: 0 });
  look(fronts, positions, { buckets, nowMs: 1, tookMs: 10 });
  look(fronts, positions, { buckets, nowMs: 1_000, tookMs: 9_000 });
  expect(look(fronts, positions, { buckets, nowMs: defaults.frontMsMax }).far).toEqual([]);
  expect(look(fronts, positions, { buckets: [1], nowMs: 1_000 + defaults.frontMsMax }).far).toEqual([1]);
});

test("a look for fresh rows leaves no position while the front is cheap", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  const woken = { plan: null, tookMs: 1, nowMs: 0, owned: 360 };
  fronts.note(pass([row(1, 0, 1)]), positions, woken);
  expect(positions.size).toBe(0);
  look(fronts, positions, { buckets, nowMs: 0 });
  look(fronts, positions, { buckets, nowMs: 1 });
  look(fronts, positions, { buckets, nowMs: 1_000, tookMs: 9_000 });
  fronts.note(pass([row(50, 0, 1)]), positions, woken);
  expect(positions.get(50)).toBe("3:0:1");
});
