import { describe, expect, test } from "vitest";
import { deadLetter, retryAfter } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

describe("retries to the hundredth attempt", () => {
  test.each(["key", "none"] as const)(
    "wait longer up to an hour and a quarter with order %s",
    async (order) => {
      const clock = settableClock();
      const world = await setup({ clock });
      const inbox = await world.queue("inbox", { order });
      const { id } = await inbox.enqueue("step", 1, { maxAttempts: 100 });
      for (let attempt = 1; attempt <= 99; attempt++) {
        const [job] = await inbox.claim({ workerId: "w1" });
        expect(job).toMatchObject({ id, attempt });
        expect(await inbox.fail(job!, new Error(`failure ${attempt}`))).toBe(true);
        const record = await inbox.get(id);
        const waitMs = record!.availableAt.getTime() - clock.databaseNow()!.getTime();
        const leastMs = Math.min(2 ** attempt, 3_600) * 1_000;
        expect(waitMs).toBeGreaterThanOrEqual(leastMs);
        expect(waitMs).toBeLessThanOrEqual(leastMs * 1.25);
        expect(record!.errors).toHaveLength(Math.min(attempt, 10));
        clock.advance(waitMs - 1);
        expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
        clock.advance(2); // The due time has microseconds, a Date has none.
      }
      const [last] = await inbox.claim({ workerId: "w1" });
      expect(last).toMatchObject({ id, attempt: 100 });
      expect(await inbox.fail(last!, new Error("failure 100"))).toBe(true);
      const dead = await inbox.get(id);
      expect(dead).toMatchObject({ status: "dead_letter", attempts: 100, lastError: "Error: failure 100" });
      expect(dead!.errors.map((error) => error.attempt)).toEqual([91, 92, 93, 94, 95, 96, 97, 98, 99, 100]);
      expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
    },
  );

  test("by lease expiry end in a dead letter too", async () => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order: "key", maxCrashes: 100 });
    const { id } = await inbox.enqueue("step", 1);
    for (let attempt = 1; attempt <= 100; attempt++) {
      expect(await inbox.claim({ workerId: "w1", leaseMs: 1_000 })).toMatchObject([{ id, attempt }]);
      clock.advance(1_000);
      expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
      clock.advance(4_500_000);
    }
    const dead = await inbox.get(id);
    expect(dead).toMatchObject({ status: "dead_letter", attempts: 100, crashes: 100 });
    expect(dead!.errors).toHaveLength(10);
  });
});

/** What the database has, as text, so that nothing is rounded on the way. */
async function stored(world: World, id: string): Promise<{ seq: string; token: string }> {
  const columns = "seq::text, lease_generation::text as token";
  const [row] = await world.sql<{ seq: string; token: string }>(
    `select ${columns} from leasehold.inbox where id = $1 union all select ${columns} from leasehold.inbox_archive where id = $1`,
    [id],
  );
  return row!;
}

describe.each([
  ["2^31", 2n ** 31n],
  ["2^53", 2n ** 53n],
])("places and tokens on both sides of %s", (_, edge) => {
  const first = edge - 5n;

  async function edgeOfNumbers(order: "key" | "none") {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    await world.sql(`alter sequence leasehold.inbox_seq restart with ${first}`);
    await world.sql(`alter sequence leasehold.lease_tokens restart with ${first}`);
    return { clock, world, inbox };
  }

  test.each(["key", "none"] as const)(
    "live through claim, renew, fail and complete with order %s",
    async (order) => {
      const { world, inbox } = await edgeOfNumbers(order);
      const jobs = Array.from({ length: 10 }, (__, n) => ({
        kind: "step",
        payload: n,
        partitionKey: "order:9182",
      }));
      await inbox.enqueueMany(jobs);
      let token = first;
      for (let n = 0n; n < 10n; n++) {
        const [job] = await inbox.claim({ workerId: "w1", limit: 1 });
        expect(job).toMatchObject({ payload: Number(n), seq: first + n, fenceToken: token });
        expect(await stored(world, job!.id)).toEqual({ seq: `${first + n}`, token: `${token}` });
        expect(await inbox.renew(job!)).toMatchObject({ state: "renewed" });
        expect(await inbox.renew({ ...job!, fenceToken: token - 1n })).toMatchObject({ state: "lost" });
        expect(await inbox.complete({ ...job!, fenceToken: token + 1n })).toBe(false);
        expect(await inbox.fail(job!, retryAfter(0))).toBe(true);
        const [again] = await inbox.claim({ workerId: "w1", limit: 1 });
        expect(again).toMatchObject({ id: job!.id, seq: first + n, fenceToken: token + 1n });
        const record = await inbox.get(job!.id);
        expect(record).toMatchObject({
          seq: `${first + n}`,
          fenceToken: `${token + 1n}`,
          errors: [{ token: `${token}` }],
        });
        expect(await inbox.complete(again!)).toBe(true);
        expect(await stored(world, job!.id)).toEqual({ seq: `${first + n}`, token: `${token + 1n}` });
        token += 2n;
      }
    },
  );

  test("stop a zombie at the fence and in a claim that knows its tokens", async () => {
    const { world, inbox } = await edgeOfNumbers("key");
    await inbox.enqueueMany(
      Array.from({ length: 8 }, (__, n) => ({ kind: "step", payload: n, partitionKey: `o${n}` })),
    );
    for (let token = first; token < edge + 3n; token++) {
      const [job] = await inbox.claim({ workerId: "w1", limit: 1 });
      expect(job!.fenceToken).toBe(token);
      await world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", token));
      const late = world.lh.transaction((tx) => world.lh.fence(tx, "order:9182", token - 1n));
      await expect(late).rejects.toThrow(`has seen token ${token}; token ${token - 1n} is older`);
    }
    const known = Array.from({ length: 8 }, (__, n) => first + BigInt(n));
    expect(await inbox.claim({ workerId: "w1", knownTokens: known })).toEqual([]);
    const [unknown] = await inbox.claim({
      workerId: "w1",
      knownTokens: known.filter((token) => token !== edge),
    });
    expect(unknown).toMatchObject({ attempt: 2, fenceToken: edge + 3n });
  });

  test("keep the order of a key whose rows are promoted and redriven", async () => {
    const { clock, inbox } = await edgeOfNumbers("key");
    await inbox.enqueue("step", "later", { partitionKey: "order:9182", delayMs: 1_000 });
    await inbox.enqueueMany(
      Array.from({ length: 4 }, (__, n) => ({ kind: "step", payload: n, partitionKey: "order:9182" })),
    );
    clock.advance(1_000);
    const run = await inbox.claim({ workerId: "w1" });
    expect(run.map((job) => job.payload)).toEqual([0, 1, 2, 3, "later"]);
    expect(run.map((job) => job.seq)).toEqual([edge - 4n, edge - 3n, edge - 2n, edge - 1n, edge]);
    const [dead, ...rest] = run;
    expect(await inbox.fail(dead!, deadLetter("broken"))).toBe(true);
    // The first release takes the rest of the run back with it.
    expect(await inbox.release(rest[0]!)).toBe(true);
    expect(await inbox.retry()).toBe(1);
    const again = await inbox.claim({ workerId: "w1" });
    expect(again.map((job) => job.payload)).toEqual([1, 2, 3, "later", 0]);
    // The redrive draws one place to mark the end of its set, and one for the row.
    expect(again.at(-1)).toMatchObject({ seq: edge + 2n, fenceToken: first + 1n });
  });
});
