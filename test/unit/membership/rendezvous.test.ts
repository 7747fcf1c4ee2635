import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rendezvous, type Sharing, shareOut, stablePlaces } from "../../../src/membership/rendezvous.js";
import { cpuGrowth } from "../../support/cpu-growth.js";

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

const nameLists = fc.record({
  items: fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 40 }),
  workers: fc.uniqueArray(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 8 }),
  perWorkerMax: fc.integer({ min: 0, max: 12 }),
});

/** The same lists, and again in another order with some names twice. */
const shuffled = nameLists.chain((sharing) =>
  fc.record({
    sharing: fc.constant(sharing),
    again: fc.record({
      items: withRepeats(sharing.items),
      workers: withRepeats(sharing.workers),
      perWorkerMax: fc.constant(sharing.perWorkerMax),
    }),
  }),
);

function withRepeats(list: string[]): fc.Arbitrary<string[]> {
  const whole = fc.shuffledSubarray(list, { minLength: list.length });
  return fc.tuple(whole, fc.subarray(list)).map(([all, some]) => [...all, ...some]);
}

function loads(places: ReadonlyMap<string, string>): number[] {
  const counts = new Map<string, number>();
  for (const worker of places.values()) counts.set(worker, (counts.get(worker) ?? 0) + 1);
  return [...counts.values()];
}

/** The definition: all pairs from the highest score down, joined while both are free. */
function slowWalk(scores: Float64Array, workers: number, perWorkerMax: number): number[] {
  const places = new Array<number>(scores.length / workers).fill(-1);
  const load = new Array<number>(workers).fill(0);
  const pairs = [...scores.keys()].sort((left, right) => scores[right]! - scores[left]! || left - right);
  for (const pair of pairs) {
    const item = Math.floor(pair / workers);
    const worker = pair % workers;
    if (places[item] !== -1 || load[worker]! >= perWorkerMax) continue;
    places[item] = worker;
    load[worker]! += 1;
  }
  return places;
}

describe("the matching", () => {
  test("is the one that a walk over all pairs from the highest score gives, equal scores included", () => {
    const sizes = fc.record({
      workers: fc.integer({ min: 1, max: 6 }),
      items: fc.integer({ min: 0, max: 20 }),
    });
    const cases = sizes.chain(({ workers, items }) =>
      fc.record({
        workers: fc.constant(workers),
        perWorkerMax: fc.integer({ min: 0, max: 8 }),
        scores: fc.array(fc.integer({ min: -9, max: 9 }), {
          minLength: items * workers,
          maxLength: items * workers,
        }),
      }),
    );
    fc.assert(
      fc.property(cases, ({ workers, perWorkerMax, scores }) => {
        const given = Float64Array.from(scores);
        expect([...stablePlaces(given, workers, perWorkerMax)]).toEqual(
          slowWalk(given, workers, perWorkerMax),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test("with equal scores everywhere still does not depend on the order of the names", () => {
    fc.assert(
      fc.property(shuffled, ({ sharing, again }) => {
        const level = (items: readonly string[], workers: readonly string[]) =>
          new Float64Array(items.length * workers.length);
        expect(shareOut(again, level)).toEqual(shareOut(sharing, level));
      }),
    );
  });

  test("gives nobody anything when the bound is none or less", () => {
    for (const perWorkerMax of [0, -1, Number.NaN]) {
      expect(rendezvous({ items: ["x", "y"], workers: ["a", "b"], perWorkerMax }).size).toBe(0);
    }
  });
});

describe("rendezvous hashing", () => {
  test("gives the same owners whatever the order of the names, and counts a repeated name once", () => {
    fc.assert(
      fc.property(shuffled, ({ sharing, again }) => {
        expect(rendezvous(again)).toEqual(rendezvous(sharing));
      }),
    );
  });

  test("keeps to the bound, and leaves an item out only when every worker is full", () => {
    fc.assert(
      fc.property(nameLists, (sharing) => {
        const { items, workers, perWorkerMax } = sharing;
        const places = rendezvous(sharing);
        expect(Math.max(0, ...loads(places))).toBeLessThanOrEqual(perWorkerMax);
        expect(places.size).toBe(Math.min(items.length, workers.length * perWorkerMax));
        for (const worker of places.values()) expect(workers).toContain(worker);
      }),
    );
  });

  test("without a bound moves to a joiner what it takes, and nothing else", () => {
    fc.assert(
      fc.property(nameLists, fc.string({ minLength: 7, maxLength: 9 }), ({ items, workers }, joiner) => {
        const before = rendezvous({ items, workers, perWorkerMax: Number.POSITIVE_INFINITY });
        const after = rendezvous({
          items,
          workers: [...workers, joiner],
          perWorkerMax: Number.POSITIVE_INFINITY,
        });
        for (const item of items) expect([before.get(item), joiner]).toContain(after.get(item));
      }),
    );
  });

  test("without a bound is about even, also when items are named like workers", () => {
    const items = names("", 5_000);
    for (const workers of [names("", 10), names("worker-host", 10), names("tenant:", 10)]) {
      const counts = loads(rendezvous({ items, workers, perWorkerMax: Number.POSITIVE_INFINITY }));
      expect(counts).toHaveLength(10);
      expect(Math.max(...counts)).toBeLessThan(500 * 1.15);
      expect(Math.min(...counts)).toBeGreaterThan(500 * 0.85);
    }
  });

  test("has no owner for anything without workers, and nothing to own without items", () => {
    expect(rendezvous({ items: ["x"], workers: [], perWorkerMax: 1 }).size).toBe(0);
    expect(rendezvous({ items: [], workers: ["a"], perWorkerMax: 1 }).size).toBe(0);
  });

  test("takes ten times as long for ten times as many tenants, not a hundred times", () => {
    const sharing = (tenants: number): Sharing => ({
      items: names("tenant:", tenants),
      workers: names("worker-host", 50),
      perWorkerMax: tenants / 50 + 20,
    });
    const [few, many] = [sharing(1_000), sharing(10_000)];
    expect(
      cpuGrowth(
        () => rendezvous(few),
        () => rendezvous(many),
      ),
    ).toBeLessThan(40);
  });
});
