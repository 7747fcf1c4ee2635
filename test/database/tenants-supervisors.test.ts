import { describe, expect, test } from "vitest";
import { type Actor, named, Stage } from "../support/tenant-stage.js";
import { setup } from "../support/world.js";
import { gate, heard, until } from "../worker/worker-world.js";

describe("a fleet", () => {
  test("runs every hot tenant once, in even shares, and goes on without one that stops", async () => {
    const world = await setup();
    const stage = new Stage(world, { hot: () => named("t", 30) });
    const a = await stage.enter("a");
    await until("one runs all", () => stage.tenantsOf("a").length === 30);
    const b = await stage.enter("b");
    await until(
      "both have their share",
      () => stage.tenantsOf("b").length >= 14 && stage.running.size === 30,
    );
    expect(a.supervisor.metrics().movesTotal).toBeLessThanOrEqual(16);
    expect(stage.tenantsOf("a").length).toBeGreaterThanOrEqual(14);
    const active = await a.supervisor.listActive();
    expect(active.map(({ id }) => id)).toEqual(["a", "b"]);
    await a.supervisor.stop();
    await until("the other runs all", () => stage.tenantsOf("b").length === 30);
    expect(stage.overlaps).toEqual([]);
    expect(b.supervisor.metrics()).toMatchObject({ hotTenants: 30, movesTotal: 0, stuckTotal: 0 });
    const last = new Map<string, bigint>();
    for (const { tenant, token } of stage.appearances) {
      expect(token).toBeGreaterThan(last.get(tenant) ?? 0n);
      last.set(tenant, token);
    }
  });

  test("follows hot(), on whichever process a tenant runs; what is cold leaves no row", async () => {
    let hot = named("t", 10);
    const world = await setup();
    const stage = new Stage(world, { hot: () => hot });
    for (const id of ["a", "b"]) await stage.enter(id);
    await until("all run, on both", () => stage.running.size === 10 && stage.tenantsOf("b").length >= 4);
    hot = [...named("t", 5), ...named("new", 5)];
    const expected = [...hot].sort().join();
    await until("the new ones run instead", () => [...stage.running.keys()].sort().join() === expected);
    await until("there are rows for them only", async () => {
      const rows = await world.sql<{ tenant: string }>(
        "select tenant from leasehold.tenant_leases order by 1",
      );
      return rows.map(({ tenant }) => tenant).join() === expected;
    });
    hot = [];
    await until("nothing runs", async () => {
      const rows = await world.sql("select 1 from leasehold.tenant_leases");
      return stage.running.size === 0 && rows.length === 0;
    });
    expect(stage.overlaps).toEqual([]);
  });

  test("keeps what runs when hot() fails, and tells", async () => {
    let isFailing = false;
    const stage = new Stage(await setup(), {
      hot: () => (isFailing ? Promise.reject(new Error("out of order")) : ["x"]),
    });
    const { lh, supervisor } = await stage.enter("a");
    const unlisted = heard(lh, "tenants:unlisted");
    isFailing = true;
    for (let look = 0; look < 3; look++) await supervisor.tick();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
    expect(unlisted.length).toBeGreaterThanOrEqual(3);
    expect(stage.appearances).toHaveLength(1);
  });

  test("keeps tenants in the regions they prefer, and elsewhere while nobody lives there", async () => {
    const regional = (region: string) =>
      named(`${region}:`, 8).map((tenant) => ({ tenant, preferredRegion: region }));
    const stage = new Stage(await setup(), {
      hot: () => [...regional("eu"), ...regional("us"), ...named("any:", 8)],
    });
    const of = (worker: string, prefix: string): number =>
      stage.tenantsOf(worker).filter((tenant) => tenant.startsWith(prefix)).length;
    await stage.enter("in-eu", { connect: { region: "eu" } });
    await until("one runs all", () => stage.tenantsOf("in-eu").length === 24);
    const us = await stage.enter("in-us", { connect: { region: "us" } });
    await until("each region has its own", () => of("in-us", "us:") === 8 && of("in-eu", "eu:") === 8);
    await until("the rest is shared", () => of("in-us", "any:") >= 3 && of("in-eu", "any:") >= 3);
    expect(stage.running.size).toBe(24);
    await us.supervisor.stop();
    await until("one runs all again", () => stage.tenantsOf("in-eu").length === 24);
    expect(stage.overlaps).toEqual([]);
  });

  test("of another name in the same schema is another fleet", async () => {
    const world = await setup();
    const [red, blue] = [new Stage(world, { name: "red" }), new Stage(world, { name: "blue" })];
    const a = await red.enter("a", { hot: () => ["x", "z1"] });
    const b = await blue.enter("b", { hot: () => named("z", 8) });
    await Promise.all([a.supervisor.tick(), b.supervisor.tick()]);
    expect(red.tenantsOf("a")).toEqual(["x", "z1"]);
    expect(blue.tenantsOf("b")).toEqual(named("z", 8));
    expect((await a.supervisor.listActive()).map(({ id }) => id)).toEqual(["a"]);
    expect(b.supervisor.owner("x")).toBe("b");
    const both = blue.on(a.lh, { hot: () => named("z", 8) });
    await both.start();
    await until("they share", () => blue.tenantsOf("a").length >= 3 && blue.running.size === 8);
    expect(red.tenantsOf("a")).toEqual(["x", "z1"]);
    await both.stop();
    await until("the other has all", () => blue.tenantsOf("b").length === 8);
    expect(red.tenantsOf("a")).toEqual(["x", "z1"]);
    expect([...red.overlaps, ...blue.overlaps]).toEqual([]);
  });
});

describe("the end of a process", () => {
  test("by lh.close() drains: tenants are stopped, leases given up, and the worker has left", async () => {
    const world = await setup();
    const stops: string[] = [];
    const stage = new Stage(world, { hot: () => named("t", 6), stop: (tenant) => void stops.push(tenant) });
    const { lh, supervisor } = await stage.enter("a");
    const stopped = heard(lh, "tenant:stopped");
    await lh.close();
    expect(supervisor.state).toBe("stopped");
    expect(stops.sort()).toEqual(named("t", 6));
    expect(new Set(stopped.map(({ reason }) => reason))).toEqual(new Set(["drain"]));
    expect(await world.sql("select distinct owner, state from leasehold.tenant_leases")).toEqual([
      { owner: null, state: "free" },
    ]);
    expect(await world.sql("select status, left_at is not null as left from leasehold.workers")).toEqual([
      { status: "dead", left: true },
    ]);
  });

  test("hands tenants over as each of them ends, to the heir", async () => {
    const { passed, open } = gate();
    const world = await setup();
    const stage = new Stage(world, { hot: () => ["slow", "quick"], drainLimitMs: 10_000 });
    const a = await stage.enter("a", { stop: (tenant) => (tenant === "slow" ? passed : undefined) });
    await stage.enter("b");
    expect(stage.tenantsOf("a")).toEqual(["quick", "slow"]);
    const stopping = a.supervisor.stop();
    await until("the quick one goes on", () => stage.running.get("quick") === "b");
    expect(stage.running.has("slow")).toBe(false);
    expect(
      await world.sql("select owner, state, heir from leasehold.tenant_leases where tenant = 'slow'"),
    ).toEqual([{ owner: "a", state: "draining", heir: "b" }]);
    open();
    await stopping;
    await until("the slow one goes on", () => stage.running.get("slow") === "b");
    expect(stage.overlaps).toEqual([]);
  });

  test("with a tenant that does not end is over after the limit: it is told of as stuck, and others may go on with it", async () => {
    const { passed } = gate();
    const world = await setup();
    const stage = new Stage(world, { drainLimitMs: 200, stop: () => passed });
    const { lh, supervisor } = await stage.enter("a");
    await supervisor.promote("x");
    const stopped = heard(lh, "tenant:stopped");
    await supervisor.stop();
    expect(stopped).toMatchObject([{ tenant: "x", reason: "drain", isStuck: true }]);
    expect(supervisor.metrics().stuckTotal).toBe(1);
    expect(await world.sql("select owner, state from leasehold.tenant_leases")).toEqual([
      { owner: null, state: "free" },
    ]);
    expect(supervisor.state).toBe("stopped");
  });
});

test("a process that is evicted by mistake ends its tenants, and the fleet goes on with them", async () => {
  const stage = new Stage(await setup(), { hot: () => named("t", 8) });
  const a = await stage.enter("a");
  const stopped = heard(a.lh, "tenant:stopped");
  await a.lh.evict("a");
  await until(
    "all have ended and run again",
    () => stage.appearances.length === 16 && stage.running.size === 8,
  );
  expect(stopped.map(({ reason }) => reason)).toEqual(Array(8).fill("evicted"));
  expect(a.supervisor.metrics().demoteTotal.evicted).toBe(8);
  expect(a.supervisor.state).toBe("working");
  expect(stage.overlaps).toEqual([]);
});

describe("one supervisor of a name in a process", () => {
  test("is all there is: a second is refused until the first has stopped", async () => {
    const stage = new Stage(await setup(), { hot: () => ["x"] });
    const { lh, supervisor } = await stage.enter("a");
    const second = stage.on(lh);
    await expect(second.start()).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
    await stage.on(lh, { name: "other", hot: () => [] }).start();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
    await supervisor.stop();
    await second.start();
    await until("it runs again", () => stage.tenantsOf("a").length === 1);
    const [before, after] = stage.appearances;
    expect(after!.token).toBeGreaterThan(before!.token);
  });

  test("starts once and stops as often as it is told", async () => {
    const stage = new Stage(await setup(), { hot: () => ["x"] });
    const { supervisor } = await stage.cast("a");
    expect(supervisor.state).toBe("new");
    const [first, second] = await Promise.allSettled([supervisor.start(), supervisor.start()]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: "LH_WORKER_STATE" } });
    expect(supervisor.state).toBe("working");
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    await supervisor.stop();
    expect(supervisor.state).toBe("stopped");
    await expect(supervisor.start()).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
  });
});

describe("orders in which nobody should start and stop", () => {
  test("a stop before the start ends it: it can't be started, and nothing was written", async () => {
    const world = await setup();
    const stage = new Stage(world, { hot: () => ["x"] });
    const { lh, supervisor } = await stage.cast("a");
    await supervisor.stop();
    await expect(supervisor.start()).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
    expect(await world.sql("select 1 from leasehold.workers")).toEqual([]);
    await stage.on(lh).start();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
  });

  test("a stop during the start, before anything is awaited, leaves nothing running and nothing held", async () => {
    const world = await setup();
    const stage = new Stage(world, { hot: () => ["x", "y"] });
    const actors: Actor[] = [await stage.cast("a"), await stage.cast("b")];
    await Promise.all(
      actors.flatMap(({ supervisor }) => [supervisor.start().catch(() => {}), supervisor.stop()]),
    );
    for (const { supervisor } of actors) expect(supervisor.state).toBe("stopped");
    expect(stage.running.size).toBe(0);
    expect(await world.sql("select 1 from leasehold.tenant_leases where owner is not null")).toEqual([]);
    expect(await world.sql("select 1 from leasehold.workers where status <> 'dead'")).toEqual([]);
  });

  test("a start on a connection that is closed fails with a code, and another after it works", async () => {
    const world = await setup();
    const stage = new Stage(world, { hot: () => ["x"] });
    const { lh, supervisor } = await stage.cast("a");
    await lh.close();
    await expect(supervisor.start()).rejects.toMatchObject({ code: "LH_CLOSED" });
    expect(supervisor.state).toBe("stopped");
    await supervisor.stop();
    await stage.enter("a");
    expect(stage.tenantsOf("a")).toEqual(["x"]);
  });

  test("a second process of the same id takes over, and the first ends what it runs", async () => {
    const stage = new Stage(await setup(), { hot: () => named("t", 5) });
    const first = await stage.enter("a");
    await until("the first runs all", () => first.supervisor.hotTenants().length === 5);
    const superseded = heard(first.lh, "worker:superseded");
    const second = await stage.enter("a");
    await until("the second runs all", () => second.supervisor.hotTenants().length === 5);
    expect(superseded).toHaveLength(1);
    expect(stage.overlaps).toEqual([]);
    expect(stage.appearances).toHaveLength(10);
    await until("the first has stopped", () => first.supervisor.state === "stopped");
    expect(stage.running.size).toBe(5);
  });
});
