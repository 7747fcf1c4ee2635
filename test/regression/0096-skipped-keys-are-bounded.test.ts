import { expect, test } from "vitest";
import { defaults } from "../../src/settings.js";
import { CommitWatermark } from "../../src/work/commit-watermark.js";

const doneTo = BigInt(defaults.lateRowsMax) + 8n;
const known = (n: number) => ({ key: `order:${n}`, bucket: 1, turn: 1n, floor: 7n, doneTo });

/** So long ago that a claim of known keys took long: keys are claimed from beyond their floor. */
function resting(): CommitWatermark {
  const watermark = new CommitWatermark();
  watermark.startOf(known(0), 1_000);
  watermark.tookMs(1_000, 2_000);
  expect(watermark.startOf(known(0), 2_001)).toBe(doneTo);
  return watermark;
}

/** A worker kept the floor of every key that it had ever claimed from beyond it. */
test("floors are kept for so many keys at most, and a further key is claimed from its floor", () => {
  const watermark = resting();
  for (let n = 0; n < defaults.skippedKeysMax; n++) expect(watermark.startOf(known(n), 2_001)).toBe(doneTo);
  expect(watermark.startOf(known(defaults.skippedKeysMax), 2_001)).toBe(7n);
  expect(watermark.startOf(known(3), 2_001)).toBe(doneTo);
  expect(watermark.floorOf("order:3", doneTo + 5n, doneTo)).toBe(7n);
});

test("a floor is forgotten when the rows of its key are done, and when there were none", () => {
  const watermark = resting();
  for (let n = 0; n < 3 * defaults.skippedKeysMax; n++) {
    expect(watermark.startOf(known(n), 2_001)).toBe(doneTo);
    if (n % 2 === 0) expect(watermark.floorOf(`order:${n}`, doneTo + 5n, doneTo)).toBe(7n);
    else watermark.forget(`order:${n}`);
  }
});
