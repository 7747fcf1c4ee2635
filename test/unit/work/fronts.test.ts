import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { ClaimedRow } from "../../../src/work/claimed-row.js";
import { Fronts } from "../../../src/work/fronts.js";

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

test("a position is the last row of its bucket, to the microsecond", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  const jobs = [
    row(1, 1_795_312_863_123.456, 7),
    row(2, 1_795_312_863_124, 8),
    row(1, 1_795_312_863_125.001, 9),
  ];
  fronts.note({ jobs, fronted: [1, 2] }, positions, { tookMs: 5, nowMs: 0, owned: 360 });
  expect([...positions]).toEqual([
    [1, "3:1795312863125001:9"],
    [2, "3:1795312863124000:8"],
  ]);
});

test("each bucket is looked at from the front once a second", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  fronts.note({ jobs: [row(1, 0, 1)], fronted: [1] }, positions, { tookMs: 1, nowMs: 0, owned: 1 });
  fronts.clearDue(positions, defaults.frontMs - 1);
  expect([...positions.keys()]).toEqual([1]);
  fronts.clearDue(positions, defaults.frontMs);
  expect([...positions.keys()]).toEqual([]);
});

test("where looking from the front has become dear it gets a twentieth of the time", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  const usual = { tookMs: 10, nowMs: 0, owned: 360 };
  fronts.note({ jobs: [row(1, 0, 1)], fronted: [] }, positions, usual);
  // 30 of 360 buckets took 60 ms longer than usual: all of them would take 0.72 s.
  const fronted = Array.from({ length: 30 }, (_, bucket) => bucket);
  fronts.note({ jobs: [row(1, 0, 1)], fronted }, positions, { tookMs: 70, nowMs: 0, owned: 360 });
  fronts.clearDue(positions, 14_399);
  expect(positions.size).toBe(1);
  fronts.clearDue(positions, 14_401);
  expect(positions.size).toBe(0);
});

test("however dear it is, nothing hides for longer than half a minute", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  fronts.note({ jobs: [row(1, 0, 1)], fronted: [] }, positions, { tookMs: 10, nowMs: 0, owned: 360 });
  fronts.note({ jobs: [row(1, 0, 1)], fronted: [1] }, positions, { tookMs: 9_000, nowMs: 0, owned: 360 });
  fronts.clearDue(positions, defaults.frontMsMax);
  expect(positions.size).toBe(0);
});
