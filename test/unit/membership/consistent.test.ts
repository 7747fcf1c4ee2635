import fc from "fast-check";
import { expect, test } from "vitest";
import { consistent } from "../../../src/membership/consistent.js";
import type { Sharing } from "../../../src/membership/rendezvous.js";

const unbounded = Number.POSITIVE_INFINITY;
const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);

const sharings = fc.record({
  items: fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 40 }),
  workers: fc.uniqueArray(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 8 }),
  perWorkerMax: fc.integer({ min: 0, max: 12 }),
});
const vnodeCounts = fc.integer({ min: 1, max: 16 });

/** How many items each worker has, the idle ones included. */
function loads(sharing: Sharing, vnodes: number): number[] {
  const counts = new Map(sharing.workers.map((worker) => [worker, 0]));
  for (const worker of consistent(sharing, vnodes).values())
    counts.set(worker, (counts.get(worker) ?? 0) + 1);
  return [...counts.values()];
}

test("the owners are the same whatever the order of the names", () => {
  const twice = sharings.chain((sharing) =>
    fc.tuple(
      fc.constant(sharing),
      fc.shuffledSubarray(sharing.items, { minLength: sharing.items.length }),
      fc.shuffledSubarray(sharing.workers, { minLength: sharing.workers.length }),
    ),
  );
  fc.assert(
    fc.property(twice, vnodeCounts, ([sharing, items, workers], vnodes) => {
      expect(consistent({ ...sharing, items, workers }, vnodes)).toEqual(consistent(sharing, vnodes));
    }),
  );
});

test("nobody is over the bound, and an item is left out only when every worker is full", () => {
  fc.assert(
    fc.property(sharings, vnodeCounts, (sharing, vnodes) => {
      const { items, workers, perWorkerMax } = sharing;
      const counts = loads(sharing, vnodes);
      expect(Math.max(...counts)).toBeLessThanOrEqual(perWorkerMax);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(
        Math.min(items.length, workers.length * perWorkerMax),
      );
    }),
  );
});

test("without a bound a joiner takes what it gets from the others, and nothing else moves", () => {
  fc.assert(
    fc.property(
      sharings,
      fc.string({ minLength: 7, maxLength: 9 }),
      vnodeCounts,
      (sharing, joiner, vnodes) => {
        const before = consistent({ ...sharing, perWorkerMax: unbounded }, vnodes);
        const workers = [...sharing.workers, joiner];
        const after = consistent({ ...sharing, workers, perWorkerMax: unbounded }, vnodes);
        for (const item of sharing.items) expect([before.get(item), joiner]).toContain(after.get(item));
      },
    ),
  );
});

test("what a full worker has no room for goes to the next worker clockwise, and nothing else moves", () => {
  const items = names("", 200);
  const workers = ["a", "b", "c", "d"];
  const wanted = consistent({ items, workers, perWorkerMax: unbounded }, 1);
  const [first = 0, second = 0] = loads({ items, workers, perWorkerMax: unbounded }, 1).sort((x, y) => y - x);
  const over = 5;
  expect(first - over).toBeGreaterThanOrEqual(second + over);
  const busiest = workers.find(
    (worker) => [...wanted.values()].filter((one) => one === worker).length === first,
  );
  const without = workers.filter((worker) => worker !== busiest);
  const next = consistent({ items, workers: without, perWorkerMax: unbounded }, 1);
  const bounded = consistent({ items, workers, perWorkerMax: first - over }, 1);
  const moved = items.filter((item) => bounded.get(item) !== wanted.get(item));
  expect(moved).toHaveLength(over);
  for (const item of moved) expect([wanted.get(item), bounded.get(item)]).toEqual([busiest, next.get(item)]);
});

// From a program of its own in another language. With one point each, many items go past the end of the circle to its start.
test("the nearest stay with a full worker, also across the end of the circle", () => {
  const owners = (perWorkerMax: number): string =>
    [...consistent({ items: names("", 60), workers: ["a", "b", "c"], perWorkerMax }, 1)]
      .sort(([left], [right]) => Number(left) - Number(right))
      .map(([, worker]) => worker)
      .join("");
  expect(owners(unbounded)).toBe("bababbbacaababbbabbbbabbbbaaaabacbababbbbabbbbabaabaabbbbbbc");
  expect(owners(22)).toBe("cabaccbacaababbbabcccacbbcaaaabacbababbcbacbbbabaacaabccbbcc");
});

test("128 virtual nodes keep the busiest near its share without a bound, one does not", () => {
  const sharing: Sharing = {
    items: names("", 10_000),
    workers: names("worker-host3-48", 10),
    perWorkerMax: unbounded,
  };
  expect(Math.max(...loads(sharing, 128))).toBeLessThan(1_000 * 1.3);
  expect(Math.min(...loads(sharing, 128))).toBeGreaterThan(1_000 * 0.7);
  expect(Math.max(...loads(sharing, 1))).toBeGreaterThan(1_000 * 1.6);
});

test("there is no owner without workers, and nothing to own without items", () => {
  expect(consistent({ items: ["x"], workers: [], perWorkerMax: 1 }, 128).size).toBe(0);
  expect(consistent({ items: [], workers: ["a"], perWorkerMax: 1 }, 128).size).toBe(0);
});
