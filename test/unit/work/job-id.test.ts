import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/adapters/system-clock.js";
import { systemRandom } from "../../../src/adapters/system-random.js";
import type { Clock } from "../../../src/seams/clock.js";
import { jobIds } from "../../../src/work/job-id.js";

/** Ids of a process whose clock shows the times given, one after the other, and then the last one for ever. */
function idsAt(...times: number[]): () => string {
  let next = 0;
  const clock: Clock = { ...systemClock, epochMs: () => times[Math.min(next++, times.length - 1)] ?? 0 };
  return jobIds(clock, systemRandom);
}

const timeOf = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
const counterOf = (id: string): number => Number.parseInt(id.slice(15, 18), 16);
const many = (make: () => string, count: number): string[] => Array.from({ length: count }, make);

function expectRising(ids: readonly string[]): void {
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids).size).toBe(ids.length);
}

test("an id is a UUID of version 7 with the milliseconds of the clock", () => {
  const at = Date.UTC(2026, 10, 15, 12);
  for (const id of many(idsAt(at), 100)) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOf(id)).toBe(at);
  }
});

test("the whole range of random bytes keeps version and variant", () => {
  for (const byte of [0x00, 0x3f, 0x40, 0x80, 0xbf, 0xff]) {
    const random = { fraction: () => 0, bytes: (count: number) => new Uint8Array(count).fill(byte) };
    expect(jobIds({ ...systemClock, epochMs: () => 1 }, random)()).toMatch(/^00000000-0001-7000-[89ab]/);
  }
});

test("ids rise within a millisecond", () => {
  const ids = many(idsAt(1_000), 500);
  expectRising(ids);
  expect(ids.map(counterOf)).toEqual(ids.map((_, i) => i));
});

test("ids rise when the clock steps back, and follow it again when it has caught up", () => {
  const make = idsAt(5_000, 5_000, 4_000, 1, 4_999, 5_001);
  const ids = many(make, 6);
  expectRising(ids);
  expect(ids.map(timeOf)).toEqual([5_000, 5_000, 5_000, 5_000, 5_000, 5_001]);
  expect(counterOf(ids[5]!)).toBe(0);
});

test("the counter's overflow moves the time part ahead, and later ids stay above it", () => {
  const ids = many(idsAt(7_000), 4_096 * 2 + 1);
  expectRising(ids);
  expect([timeOf(ids[4_095]!), timeOf(ids[4_096]!), timeOf(ids[8_192]!)]).toEqual([7_000, 7_001, 7_002]);
});

test("ids rise whatever the clock does", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 47 }), { minLength: 1, maxLength: 200 }), (times) => {
      expectRising(many(idsAt(...times), times.length));
    }),
  );
});

test("two processes with one clock make different ids", () => {
  const ids = new Set([...many(idsAt(1), 200), ...many(idsAt(1), 200)]);
  expect(ids.size).toBe(400);
});
