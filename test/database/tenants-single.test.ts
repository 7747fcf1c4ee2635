import { describe, expect, test } from "vitest";
import type { TaskResult } from "../../src/tenants.js";
import { named, Stage } from "../support/tenant-stage.js";
import { setup } from "../support/world.js";
import { heard, until } from "../worker/worker-world.js";

/** One supervisor that shares with nobody, and what it leaves in the tables. */
async function alone(options: Parameters<Stage["enter"]>[1] = {}) {
  const world = await setup();
  const stage = new Stage(world);
  const { lh, supervisor } = await stage.enter("a", { fleet: false, ...options });
  const rows = async (): Promise<number> => {
    const [row] = await world.sql<{ n: number }>(
      `select (select count(*) from leasehold.workers)::int + (select count(*) from leasehold.tenant_leases)::int
              + (select count(*) from leasehold.handled)::int as n`,
    );
    return row!.n;
  };
  return { world, stage, lh, supervisor, rows };
}

describe("a supervisor without a fleet", () => {
  test("runs everything that is hot, writes nothing, and ends it all at its stop", async () => {
    const stops: [string, string | undefined][] = [];
    const { stage, supervisor, rows } = await alone({
      hot: () => named("t", 20),
      stop: (tenant, started) => void stops.push([tenant, started]),
    });
    expect(stage.tenantsOf("a")).toEqual(named("t", 20).sort());
    expect(supervisor.hotTenants().map(({ fenceToken }) => fenceToken)).toEqual(Array(20).fill("0"));
    expect(supervisor.owns("t3")).toBe(true);
    expect(supervisor.owns("cold")).toBe(true);
    expect(supervisor.owner("cold")).toBe("a");
    expect(await rows()).toBe(0);
    await supervisor.stop();
    expect(stage.running.size).toBe(0);
    expect(stops).toHaveLength(20);
    expect(stops[0]).toEqual([stops[0]![0], `${stops[0]![0]} on a`]);
    expect(await rows()).toBe(0);
  });

  test("follows hot() at its ticks", async () => {
    let hot = ["x", "y"];
    const { stage, supervisor, rows } = await alone({ hot: () => hot });
    hot = ["y", "z"];
    await until("x has gone and z has come", () => stage.tenantsOf("a").join() === "y,z");
    expect(stage.appearances.map(({ tenant }) => tenant)).toEqual(["x", "y", "z"]);
    expect(supervisor.metrics()).toMatchObject({ hotTenants: 2, demoteTotal: { idle: 1 } });
    expect(await rows()).toBe(0);
  });

  test("promotes and demotes whatever it is told to, once", async () => {
    const { stage, supervisor, rows } = await alone();
    expect(await supervisor.promote("x")).toBe(0n);
    expect(await supervisor.promote("x")).toBe(0n);
    expect(stage.appearances).toHaveLength(1);
    await supervisor.tick();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
    await supervisor.demote("x");
    expect(stage.tenantsOf("a")).toEqual([]);
    await expect(supervisor.demote("x")).rejects.toMatchObject({ code: "LH_NOT_OWNER" });
    await supervisor.promote("x");
    expect(stage.appearances).toHaveLength(2);
    expect(await rows()).toBe(0);
  });

  test("dispatches to what is cold, and fans out to everything", async () => {
    const { supervisor, rows } = await alone({ hot: () => ["hot"] });
    const task = (tenant: string): string => tenant.toUpperCase();
    expect(await supervisor.dispatchCold(["hot", "cold"], task)).toEqual([
      { tenant: "hot", is: "hot", owner: "a" },
      { tenant: "cold", is: "done", value: "COLD" },
    ]);
    expect(await supervisor.fanOut(["hot", "cold"], task)).toEqual([
      { tenant: "hot", is: "done", value: "HOT" },
      { tenant: "cold", is: "done", value: "COLD" },
    ]);
    const again = (results: readonly TaskResult<string>[]): string[] => results.map(({ is }) => is);
    expect(again(await supervisor.fanOut(["hot", "cold"], task, { id: "run" }))).toEqual(["done", "done"]);
    const second = await supervisor.fanOut(["hot", "cold"], task, { id: "run" });
    expect(again(second)).toEqual(["done-elsewhere", "done-elsewhere"]);
    expect(await rows()).toBe(0);
  });

  test("tells a task that throws from one that does not, and goes on", async () => {
    const { supervisor } = await alone();
    const broken = new Error("out of order");
    const results = await supervisor.dispatchCold(["x", "y"], (tenant) => {
      if (tenant === "x") throw broken;
      return 1;
    });
    expect(results).toEqual([
      { tenant: "x", is: "failed", error: broken },
      { tenant: "y", is: "done", value: 1 },
    ]);
  });

  test("starts no more tasks at a time than it is told, and none after its signal", async () => {
    const { supervisor } = await alone();
    let atOnce = 0;
    let most = 0;
    const signal = new AbortController();
    const results = await supervisor.dispatchCold(
      named("t", 10),
      async (tenant) => {
        most = Math.max(most, ++atOnce);
        if (tenant === "t4") signal.abort();
        await new Promise((resolve) => setImmediate(resolve));
        atOnce--;
      },
      { concurrency: 2, signal: signal.signal },
    );
    expect(most).toBe(2);
    const done = results.filter(({ is }) => is === "done").length;
    expect(done).toBeGreaterThanOrEqual(5);
    expect(done).toBeLessThanOrEqual(6);
    expect(results.filter(({ is }) => is === "elsewhere")).toHaveLength(10 - done);
  });

  test("calls start() again when it throws, and tells", async () => {
    const attempts: number[] = [];
    const world = await setup();
    const failed = heard(world.lh, "tenant:failed");
    const supervisor = new Stage(world).on(world.lh, {
      fleet: false,
      hot: () => ["x"],
      start: (_, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error("out of order");
        return "ok";
      },
    });
    await supervisor.start();
    await until("it has been called again", () => attempts.length === 2);
    expect(attempts).toEqual([1, 2]);
    expect(failed).toMatchObject([{ tenant: "x", attempt: 1, againInMs: 1_000 }]);
    expect(supervisor.metrics()).toMatchObject({ startFailuresTotal: 1, demoteTotal: { error: 1 } });
    expect(supervisor.hotTenants()).toMatchObject([{ tenant: "x", attempt: 2 }]);
  });

  test("works without a schema: nothing of it is asked for", async () => {
    const world = await setup();
    const lh = await world.connect({ schema: "no_such_schema", workerId: "a" });
    const stage = new Stage(world);
    const supervisor = stage.on(lh, { fleet: false, hot: () => ["x"] });
    await supervisor.start();
    expect(stage.tenantsOf("a")).toEqual(["x"]);
    expect(await supervisor.listActive()).toMatchObject([{ id: "a", generation: 0 }]);
    await supervisor.stop();
  });
});
