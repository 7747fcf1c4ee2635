import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { CommitWatermark } from "../../../src/work/commit-watermark.js";

const far = BigInt(defaults.lateRowsMax);
const known = (floor: bigint, doneTo: bigint) => ({ key: "order:9182", bucket: 1, turn: 1n, floor, doneTo });

test("the watermark rises when every transaction that could have drawn a lower seq has ended", () => {
  const watermark = new CommitWatermark();
  watermark.note({ seq: 100n, xmin: 10n, xmax: 20n });
  expect(watermark.seq).toBe(0n);
  watermark.note({ seq: 200n, xmin: 19n, xmax: 30n });
  expect(watermark.seq).toBe(0n);
  watermark.note({ seq: 300n, xmin: 20n, xmax: 40n });
  expect(watermark.seq).toBe(100n);
  watermark.note({ seq: 400n, xmin: 40n, xmax: 50n });
  expect(watermark.seq).toBe(300n);
});

test("the floor of a key is where the watermark was when its run was claimed, never beyond the run", () => {
  const watermark = new CommitWatermark();
  expect(watermark.floorOf("order:9182", 500n, 100n)).toBe(100n);
  expect(watermark.floorOf("order:9182", 50n, 100n)).toBe(50n);
});

test("far beyond its floor a key is claimed from there for a share of the time, and the floor does not rise meanwhile", () => {
  const watermark = new CommitWatermark();
  const key = known(7n, far + 8n);
  expect(watermark.startOf(key, 1_000)).toBe(7n);
  watermark.tookMs(100, 1_100);
  expect(watermark.startOf(key, 1_399)).toBe(far + 8n);
  expect(watermark.floorOf("order:9182", far + 20n, far)).toBe(7n);
  expect(watermark.startOf(key, 1_400)).toBe(7n);
  expect(watermark.floorOf("order:9182", far + 20n, far)).toBe(far);
});

test("near its floor a key is always claimed from there, however long a claim took", () => {
  const watermark = new CommitWatermark();
  const key = known(0n, far);
  expect(watermark.startOf(key, 1_000)).toBe(0n);
  watermark.tookMs(10_000, 11_000);
  expect(watermark.startOf(key, 11_001)).toBe(0n);
});
