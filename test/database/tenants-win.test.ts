import { describe, expect, test } from "vitest";
import { graceMs, processesOf, ttlMs, wantedOf } from "../support/tenant-holders.js";
import { setup, type World } from "../support/world.js";

async function rowOf(world: World, tenant: string): Promise<Record<string, unknown> | undefined> {
  const rows = await world.sql(
    "select owner, token::text, state, heir, source from leasehold.tenant_leases where tenant = $1",
    [tenant],
  );
  return rows[0];
}

describe("a lease is refused to a process", () => {
  test("that is not registered", async () => {
    const world = await setup();
    expect(await processesOf(world).process("a").win("x")).toBeNull();
    expect(await rowOf(world, "x")).toBeUndefined();
  });

  test("that is marked dead, is draining, or was not seen for its TTL", async () => {
    const world = await setup();
    const { started, time } = processesOf(world);
    const a = await started("a");
    for (const status of ["dead", "draining"]) {
      await world.sql("update leasehold.workers set status = $1", [status]);
      expect(await a.win("x")).toBeNull();
    }
    await world.sql("update leasehold.workers set status = 'alive'");
    time.advance(ttlMs - 1);
    expect(await a.win("almost")).not.toBeNull();
    time.advance(1);
    expect(await a.win("x")).toBeNull();
    expect(await rowOf(world, "x")).toBeUndefined();
  });

  test("whose id another process has taken, also for what it had itself", async () => {
    const world = await setup();
    const { started, time } = processesOf(world);
    const first = await started("a");
    const token = await first.win("x");
    const second = await started("a");
    expect(await first.win("y")).toBeNull();
    expect(await first.win("x", token!)).toBeNull();
    time.advance(2 * ttlMs);
    await second.beat();
    expect(await first.win("x", token!)).toBeNull();
    expect(await second.win("x", token!)).toBeGreaterThan(token!);
  });
});

describe("of those that try", () => {
  test("with the same token seen one wins, at once as well as one after another", async () => {
    const world = await setup();
    const { started } = processesOf(world);
    const all = await Promise.all(["a", "b", "c"].map((id) => started(id)));
    for (let round = 0; round < 15; round++) {
      const tenant = `t${round}`;
      const tokens = await Promise.all(all.map((one) => one.win(tenant)));
      const at = tokens.findIndex((token) => token !== null);
      expect(tokens.filter((token) => token !== null)).toHaveLength(1);
      const seen = tokens[at]!;
      expect(await rowOf(world, tenant)).toMatchObject({ owner: all[at]!.id, token: String(seen) });
      await all[at]!.ownership.free([{ tenant, token: seen }]);
      const again = await Promise.all(all.map((one) => one.win(tenant, seen)));
      expect(again.filter((token) => token !== null)).toHaveLength(1);
    }
  });

  test("one that comes late with an old token changes nothing", async () => {
    const world = await setup();
    const { started } = processesOf(world);
    const [a, b] = [await started("a"), await started("b")];
    const first = (await a.win("x"))!;
    await a.ownership.free([{ tenant: "x", token: first }]);
    const second = (await b.win("x", first))!;
    expect(await a.win("x", first)).toBeNull();
    await b.ownership.free([{ tenant: "x", token: second }]);
    const before = await rowOf(world, "x");
    for (const seen of [first, 0n, second + 1_000n]) expect(await a.win("x", seen)).toBeNull();
    expect(await rowOf(world, "x")).toEqual(before);
  });

  test("with many tenants at once each wins what is to be won, and hears of nothing else", async () => {
    const world = await setup();
    const { started } = processesOf(world);
    const [a, b] = [await started("a"), await started("b")];
    const names = Array.from({ length: 1_201 }, (_, i) => `t${i}`);
    await b.ownership.win([wantedOf("t7"), wantedOf("t700")]);
    const won = await a.ownership.win(names.map((tenant) => wantedOf(tenant)));
    expect(won.size).toBe(1_199);
    expect(won.has("t7")).toBe(false);
    const tokens = (
      await world.sql<{ n: number }>("select count(distinct token)::int as n from leasehold.tenant_leases")
    )[0];
    expect(tokens).toEqual({ n: 1_201 });
  });
});

test("every win has a higher token than all before it, also one's own lease again", async () => {
  const world = await setup();
  const { started } = processesOf(world);
  const [a, b] = [await started("a"), await started("b")];
  const tokens = [0n];
  const wins = async (one: typeof a): Promise<bigint> => {
    const token = (await one.win("x", tokens.at(-1)))!;
    expect(token).toBeGreaterThan(tokens.at(-1)!);
    expect(await one.lease("x")).toMatchObject({ isMine: true, state: "running", token: String(token) });
    tokens.push(token);
    return token;
  };
  await wins(a);
  await a.ownership.drain([{ tenant: "x", token: await wins(a), heir: "b" }], 1_000);
  await a.ownership.free([{ tenant: "x", token: await wins(a) }]);
  await wins(b);
  await b.ownership.free([{ tenant: "x", token: await wins(b) }]);
  await wins(a);
  expect(tokens).toHaveLength(7);
});

describe("the lease of an owner", () => {
  /** Worker a holds x, and b tries. */
  async function held(hasSession = false) {
    const world = await setup();
    const { started, time } = processesOf(world);
    const a = await started("a", hasSession);
    const b = await started("b");
    const token = (await a.win("x"))!;
    const tries = async (): Promise<"won" | "refused"> => {
      await b.record.register(
        { version: "1", running: 0, slots: 0, held: 0, idleMs: {}, recent: {} },
        "it lives",
      );
      const lease = (await b.lease("x"))!;
      const won = await b.win("x", token);
      expect(won !== null).toBe(lease.isLost);
      return won === null ? "refused" : "won";
    };
    return { world, time, a, b, token, started, tries };
  }

  test("that lives can't be won, for as long as it beats", async () => {
    const { time, a, tries } = await held();
    for (let beat = 0; beat < 5; beat++) {
      time.advance(ttlMs - 1);
      expect(await tries()).toBe("refused");
      expect(await a.beat()).toBe("accepted");
    }
  });

  test("that was not seen for its TTL can be won, marked dead or not", async () => {
    const { time, tries } = await held();
    time.advance(ttlMs - 1);
    expect(await tries()).toBe("refused");
    time.advance(1);
    expect(await tries()).toBe("won");
  });

  test("that was evicted can't be won before its TTL is over", async () => {
    const { world, time, tries } = await held();
    await world.lh.evict("a");
    expect(await tries()).toBe("refused");
    time.advance(ttlMs - 1);
    expect(await tries()).toBe("refused");
    time.advance(1);
    expect(await tries()).toBe("won");
  });

  test("whose session was free for the grace can be won, and not before it is marked dead for it", async () => {
    const { world, time, a, tries } = await held(true);
    const freeSince = time.databaseNow();
    await a.beat();
    await world.sql("update leasehold.workers set free_since = $1 where id = 'a'", [freeSince]);
    time.advance(graceMs - 1);
    await world.sql("update leasehold.workers set status = 'dead' where id = 'a'");
    expect(await tries()).toBe("refused");
    time.advance(1);
    await world.sql("update leasehold.workers set status = 'alive' where id = 'a'");
    expect(await tries()).toBe("refused");
    await world.sql("update leasehold.workers set status = 'dead' where id = 'a'");
    expect(await tries()).toBe("won");
  });

  test("that has left in good order can be won at once; one that left in a hurry only after its TTL", async () => {
    const clean = await held();
    await clean.a.record.deregister(true);
    expect(await clean.tries()).toBe("won");
    const hasty = await held();
    await hasty.a.record.deregister(false);
    expect(await hasty.tries()).toBe("refused");
    hasty.time.advance(ttlMs);
    expect(await hasty.tries()).toBe("won");
  });

  test("that is in no registry can be won", async () => {
    const { world, tries } = await held();
    await world.sql("delete from leasehold.workers where id = 'a'");
    expect(await tries()).toBe("won");
  });

  test("that is ending it can't be won before it has given it up", async () => {
    const { time, a, b, token, tries } = await held();
    await a.ownership.drain([{ tenant: "x", token, heir: "b" }], 10);
    time.advance(ttlMs - 1);
    expect(await tries()).toBe("refused");
    await a.ownership.free([{ tenant: "x", token }]);
    expect(await b.win("x", token)).toBeGreaterThan(token);
  });
});
