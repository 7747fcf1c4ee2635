import { expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { ClaimSpan } from "../../../src/work/claim-span.js";

const all = Array.from({ length: 360 }, (_, bucket) => bucket);

test("a span is halved while it fills a batch, down to a limit, and doubled when it does not", () => {
  const span = new ClaimSpan();
  expect(span.of(all, 500)).toHaveLength(360);
  for (const expected of [180, 90, 45, 32, 32]) {
    span.note(span.of(all, 500).length, true);
    expect(span.of(all, 500)).toHaveLength(expected);
  }
  span.note(32, false);
  expect(span.of(all, 500)).toHaveLength(64);
});

test("a small batch needs few buckets, and without a backlog all are looked at", () => {
  const span = new ClaimSpan();
  span.note(1, true);
  expect(span.of(all, 10)).toEqual(all.slice(0, defaults.spanBucketsMin));
  span.reset();
  expect(span.of(all, 10)).toEqual(all);
});

test("where a look is dear it goes down to a few buckets, whatever the batch", () => {
  const span = new ClaimSpan();
  for (let i = 0; i < 10; i++) span.note(span.of(all, 500, true).length, true);
  expect(span.of(all, 500, true)).toHaveLength(defaults.spanBucketsMin);
  expect(span.of(all, 500)).toHaveLength(32);
});
