import { describe, expect, test } from "vitest";
import { NotOwnerError } from "../../src/tenants.js";
import { type Actor, named, Stage, settledFleet } from "../support/tenant-stage.js";
import { setup } from "../support/world.js";
import { heard, until } from "../worker/worker-world.js";

async function pair() {
  const world = await setup();
  const stage = new Stage(world);
  const [a, b] = [await stage.enter("a"), await stage.enter("b")];
  await settledFleet([a, b]);
  const owning = (tenant: string): { owner: Actor; other: Actor } =>
    a.supervisor.owner(tenant) === "a" ? { owner: a, other: b } : { owner: b, other: a };
  /** What is cold goes by the loads of the last tick: both have seen the same. */
  const look = async (): Promise<void> => {
    for (const { supervisor } of [a, b]) await supervisor.tick();
  };
  return { world, stage, a, b, owning, look };
}

describe("promote", () => {
  test("runs a tenant on its owner, and elsewhere raises an error that names the owner", async () => {
    const { stage, owning, look } = await pair();
    for (const tenant of named("t", 6)) {
      await look();
      const { owner, other } = owning(tenant);
      const refused = heard(other.lh, "tenant:refused");
      const error = await other.supervisor.promote(tenant).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(NotOwnerError);
      expect(error).toMatchObject({ code: "LH_NOT_OWNER", tenant, owner: owner.lh.workerId });
      expect(refused).toEqual([{ supervisor: "tenants", tenant, owner: owner.lh.workerId }]);
      expect(await owner.supervisor.promote(tenant)).toBeGreaterThan(0n);
      expect(stage.running.get(tenant)).toBe(owner.lh.workerId);
      await expect(other.supervisor.promote(tenant)).rejects.toMatchObject({ owner: owner.lh.workerId });
    }
    expect(stage.overlaps).toEqual([]);
  });

  test("of what runs already gives its token, and both know who has it", async () => {
    const { owning, a, b, stage, look } = await pair();
    const { owner } = owning("x");
    const token = await owner.supervisor.promote("x");
    expect(await owner.supervisor.promote("x")).toBe(token);
    expect(stage.appearances).toHaveLength(1);
    await look();
    for (const { supervisor } of [a, b]) expect(supervisor.owner("x")).toBe(owner.lh.workerId);
    expect([a, b].filter(({ supervisor }) => supervisor.owns("x"))).toEqual([owner]);
  });

  test("on both at once is done by one", async () => {
    const { a, b, stage, look } = await pair();
    for (const tenant of named("t", 6)) {
      await look();
      const outcomes = await Promise.allSettled([a, b].map(({ supervisor }) => supervisor.promote(tenant)));
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
    expect(stage.appearances).toHaveLength(6);
    expect(stage.overlaps).toEqual([]);
  });

  test("lasts through ticks and through the end of its process: another goes on", async () => {
    const { owning, stage, look } = await pair();
    const { owner, other } = owning("x");
    const token = await owner.supervisor.promote("x");
    await look();
    expect(stage.running.get("x")).toBe(owner.lh.workerId);
    await owner.supervisor.stop();
    await until("the other runs it", () => stage.running.get("x") === other.lh.workerId);
    expect(stage.appearances.at(-1)!.token).toBeGreaterThan(token);
    expect(stage.overlaps).toEqual([]);
  });

  test("refuses what is no tenant, and needs a supervisor that works", async () => {
    const stage = new Stage(await setup());
    const { supervisor } = await stage.cast("a");
    await expect(supervisor.promote("x")).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
    await supervisor.start();
    await expect(supervisor.promote("")).rejects.toMatchObject({ code: "LH_INVALID_KEY" });
    await expect(supervisor.promote("x\0")).rejects.toMatchObject({ code: "LH_INVALID_KEY" });
    await expect(supervisor.promote("x", { preferredRegion: "" })).rejects.toMatchObject({
      code: "LH_INVALID_OPTION",
    });
    await supervisor.stop();
    for (const call of [
      () => supervisor.promote("x"),
      () => supervisor.demote("x"),
      () => supervisor.tick(),
      () => supervisor.dispatchCold([], () => 1),
      () => supervisor.fanOut([], () => 1),
    ])
      await expect(call()).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
  });
});

describe("demote", () => {
  test("ends a tenant and makes it cold: no row is left, and no tick starts it again", async () => {
    const world = await setup();
    const stage = new Stage(world, { tickMs: 60_000 });
    const { lh, supervisor } = await stage.enter("a");
    await supervisor.promote("x");
    const stopped = heard(lh, "tenant:stopped");
    await supervisor.demote("x", "error");
    expect(stopped).toMatchObject([{ tenant: "x", reason: "error", isStuck: false }]);
    expect(await world.sql("select 1 from leasehold.tenant_leases")).toEqual([]);
    await supervisor.tick();
    expect(stage.running.size).toBe(0);
    expect(supervisor.metrics().demoteTotal.error).toBe(1);
  });

  test("on a process that does not run it is refused, and changes nothing", async () => {
    const { owning, stage, look } = await pair();
    const { owner, other } = owning("x");
    await owner.supervisor.promote("x");
    await expect(other.supervisor.demote("never hot")).rejects.toMatchObject({ code: "LH_NOT_OWNER" });
    await look();
    await expect(other.supervisor.demote("x")).rejects.toMatchObject({
      code: "LH_NOT_OWNER",
      owner: owner.lh.workerId,
    });
    expect(stage.running.get("x")).toBe(owner.lh.workerId);
  });

  test("of what hot() lists lasts until the next tick", async () => {
    const stage = new Stage(await setup(), { hot: () => ["x"], tickMs: 60_000 });
    const { supervisor } = await stage.enter("a");
    await supervisor.demote("x");
    expect(stage.running.size).toBe(0);
    await supervisor.tick();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
    const [first, second] = stage.appearances;
    expect(second!.token).toBeGreaterThan(first!.token);
  });

  test("waits for stop(), and gives the lease up after it", async () => {
    let open: () => void = () => {};
    const passed = new Promise<void>((resolve) => {
      open = resolve;
    });
    const world = await setup();
    const stage = new Stage(world, { stop: () => passed, drainLimitMs: 10_000 });
    const { supervisor } = await stage.enter("a");
    await supervisor.promote("x");
    const demoted = supervisor.demote("x");
    expect(stage.running.size).toBe(0);
    expect(await world.sql("select state, owner from leasehold.tenant_leases")).toEqual([
      { state: "running", owner: "a" },
    ]);
    await expect(supervisor.promote("x")).rejects.toMatchObject({ code: "LH_WORKER_STATE" });
    open();
    await demoted;
    expect(await world.sql("select 1 from leasehold.tenant_leases")).toEqual([]);
  });
});

test("the policy makes busy tenants hot, each once in the fleet, and cold when they have been idle", async () => {
  let busy: { tenant: string; depth: number }[] = [];
  const world = await setup();
  const stage = new Stage(world, { policy: { measure: () => busy, depthMin: 10, idleMs: 400 } });
  const actors = [await stage.enter("a"), await stage.enter("b")];
  await settledFleet(actors);
  busy = [...named("busy", 8).map((tenant) => ({ tenant, depth: 10 })), { tenant: "calm", depth: 9 }];
  await until("all that are busy run", () => stage.running.size === 8);
  expect(stage.running.has("calm")).toBe(false);
  busy = named("busy", 8).map((tenant) => ({ tenant, depth: 1 }));
  for (let look = 0; look < 3; look++) await Promise.all(actors.map(({ supervisor }) => supervisor.tick()));
  expect(stage.running.size).toBe(8);
  busy = [{ tenant: "busy0", depth: 0.5 }];
  await until("only the one that is not idle runs", () => [...stage.running.keys()].join() === "busy0");
  const rows = await world.sql("select tenant, source from leasehold.tenant_leases");
  expect(rows).toEqual([{ tenant: "busy0", source: "policy" }]);
  expect(stage.appearances).toHaveLength(8);
  expect(stage.overlaps).toEqual([]);
});
