import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidKeyError } from "../../../src/errors.js";
import { shardKey } from "../../../src/membership/shard-key.js";

const refusedKey = expect.objectContaining({ code: "LH_INVALID_KEY" });
const refusedOption = (option: string) => expect.objectContaining({ code: "LH_INVALID_OPTION", option });

test("the shard of an attribute stays what it is, since jobs of earlier releases wait in it", () => {
  expect(shardKey("tenant:123", "alice")).toBe("tenant:123#shard-6");
  expect(shardKey("tenant:123", "order-1")).toBe("tenant:123#shard-4");
  expect(shardKey("tenant:123", "")).toBe("tenant:123#shard-3");
  expect(shardKey("tenant:123", "order-1", 1)).toBe("tenant:123#shard-0");
});

test("the shard follows from the attribute and the number of shards, and not from the key", () => {
  const key = fc.string({ minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(key, fc.string(), fc.integer({ min: 1, max: 1_024 }), (someKey, by, shards) => {
      const sharded = shardKey(`${someKey}x`, by, shards);
      const shard = Number(/#shard-(\d+)$/.exec(sharded)?.[1]);
      expect(sharded).toBe(`${someKey}x#shard-${shard}`);
      expect(shard).toBeLessThan(shards);
      expect(shardKey("other", by, shards)).toBe(`other#shard-${shard}`);
    }),
  );
});

describe("the busiest of 8 shards has at most a tenth more than its share of 10 000 attributes", () => {
  const attributes: readonly (readonly [name: string, make: (i: number) => string])[] = [
    ["numbers", (i) => `${i}`],
    ["order ids", (i) => `order-${100_000 + i}`],
    ["addresses", (i) => `customer.${i}@example.com`],
    ["multiples of 8", (i) => `${i * 8}`],
  ];

  test.each(attributes)("%s", (_name, make) => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 10_000; i++) {
      const key = shardKey("tenant:123", make(i));
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(counts.size).toBe(8);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(1_250 * 1.1);
  });
});

describe("what can't be used is refused", () => {
  test("a key that is empty, not text or not storable", () => {
    for (const key of ["", "a\u0000", "\ud800", 7, null, undefined, {}]) {
      expect(() => shardKey(key as string, "alice")).toThrow(refusedKey);
    }
  });

  test("a key that does not fit with its shard, counted in bytes", () => {
    expect(Buffer.byteLength(shardKey("k".repeat(504), "alice"))).toBe(512);
    expect(Buffer.byteLength(shardKey("é".repeat(252), "alice"))).toBe(512);
    expect(() => shardKey("k".repeat(505), "alice")).toThrow(InvalidKeyError);
    expect(() => shardKey("é".repeat(253), "alice")).toThrow(
      /with its shard it has 514 bytes, the limit is 512/,
    );
  });

  test("a number of shards outside of 1 to 1024", () => {
    expect(shardKey("k", "alice", 1_024)).toMatch(/^k#shard-\d+$/);
    for (const shards of [0, -1, 1.5, 1_025, Number.NaN, "8", null]) {
      expect(() => shardKey("k", "alice", shards as number)).toThrow(refusedOption("shards"));
    }
  });

  test("an attribute that is not text", () => {
    for (const by of [7, null, undefined, {}, 7n]) {
      expect(() => shardKey("k", by as string)).toThrow(refusedOption("by"));
    }
  });
});
