import fc from "fast-check";
import { expect, test } from "vitest";
import { hash32, mix32 } from "../../../src/membership/hash.js";

/** The same from its definition, in whole numbers without an end. */
function reference(text: string, seed: number): number {
  const word = (value: bigint): bigint => value & 0xffff_ffffn;
  const mix = (bits: bigint): bigint => {
    let mixed = word((bits ^ (bits >> 16n)) * 0x85eb_ca6bn);
    mixed = word((mixed ^ (mixed >> 13n)) * 0xc2b2_ae35n);
    return mixed ^ (mixed >> 16n);
  };
  let hash = 0x811c_9dc5n ^ mix(BigInt(seed));
  for (const byte of new TextEncoder().encode(text)) hash = word((hash ^ BigInt(byte)) * 16_777_619n);
  return Number(mix(hash));
}

test("the finaliser has the values that murmur3 has for an empty text", () => {
  expect(mix32(0)).toBe(0);
  expect(mix32(1)).toBe(0x514e28b7);
  expect(mix32(0xffff_ffff)).toBe(0x81f16f39);
  expect(mix32(-1)).toBe(0x81f16f39);
});

test("with seed 0 it is the finaliser over the published values of FNV-1a", () => {
  expect(hash32("", 0)).toBe(mix32(0x811c9dc5));
  expect(hash32("a", 0)).toBe(mix32(0xe40c292c));
  expect(hash32("foobar", 0)).toBe(mix32(0xbf9cf968));
});

// Computed with a program of its own, in another language. Whoever changes one of them moves every bucket of a mixed fleet.
const pinned: readonly (readonly [text: string, seed: number, value: number])[] = [
  ["", 0, 0xab3e7c0b],
  ["a", 0, 0x1a80b1b3],
  ["foobar", 0, 0x0c0da6dc],
  ["worker-host3-4821", 0, 0xa186eb54],
  ["bücket 🪣", 0, 0xb6e86e50],
  ["", 1, 0xedad1341],
  ["worker-host3-4821", 1, 0xdb0583f9],
  ["bücket 🪣", 2, 0x9938bd48],
  ["foobar", 0x8000_0000, 0xeb2726af],
];

test.each(pinned)("the hash of %j under seed %d stays what it is", (text, seed, value) => {
  expect(hash32(text, seed)).toBe(value);
});

test("it agrees with its definition for any text and seed", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 40 });
  const seed = fc.integer({ min: 0, max: 0xffff_ffff });
  fc.assert(
    fc.property(text, seed, (someText, someSeed) => {
      expect(hash32(someText, someSeed)).toBe(reference(someText, someSeed));
    }),
  );
});

test("texts that collide under one seed are told apart by another, also by one with only the top bit set", () => {
  const collisions = [
    ["costarring", "liquid"],
    ["declinate", "macallums"],
    ["altarage", "zinke"],
  ] as const;
  for (const [left, right] of collisions) {
    expect(hash32(left, 0)).toBe(hash32(right, 0));
    for (const seed of [1, 2, 3, 0x8000_0000]) expect(hash32(left, seed)).not.toBe(hash32(right, seed));
  }
});

test("ids that differ at the end only are spread over the upper bits as evenly as chance would", () => {
  const counts = new Array<number>(16).fill(0);
  for (let pid = 1; pid <= 4_000; pid++) {
    const upper = hash32(`worker-host3-${pid}`, 0) >>> 28;
    counts[upper] = (counts[upper] ?? 0) + 1;
  }
  expect(Math.max(...counts)).toBeLessThan(250 * 1.2);
  expect(Math.min(...counts)).toBeGreaterThan(250 * 0.8);
});
