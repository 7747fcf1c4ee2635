import { describe, expect, test } from "vitest";
import type { DispatchProgress, TaskResult } from "../../src/tenants.js";
import { type Actor, named, Stage, settledFleet } from "../support/tenant-stage.js";
import { setup } from "../support/world.js";
import { gate, until } from "../worker/worker-world.js";

/** Three processes that agree on everything, with these tenants running on them. */
async function trio(hot: readonly string[] = []) {
  let listed: readonly string[] = [];
  const world = await setup();
  const stage = new Stage(world, { hot: () => listed });
  const actors: Actor[] = [];
  for (const id of ["a", "b", "c"]) actors.push(await stage.enter(id));
  await settledFleet(actors);
  listed = hot;
  await until("what is hot runs", () => stage.running.size === hot.length);
  for (const { supervisor } of actors) await supervisor.tick();
  return { world, stage, actors };
}

/** A task that notes who did it for whom. */
function noted(done: [string, string][], worker: string) {
  return (tenant: string): string => {
    done.push([tenant, worker]);
    return `${tenant} by ${worker}`;
  };
}

function counted<T>(results: readonly TaskResult<T>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { is } of results) counts[is] = (counts[is] ?? 0) + 1;
  return counts;
}

describe("the cold dispatcher", () => {
  test("on three processes does each tenant's task once, on its owner, and says who has the rest", async () => {
    const { world, actors } = await trio();
    const tenants = named("cold", 60);
    const done: [string, string][] = [];
    const progress: DispatchProgress[] = [];
    const all = await Promise.all(
      actors.map(({ lh, supervisor }) =>
        supervisor.dispatchCold(tenants, noted(done, lh.workerId), {
          ...(lh.workerId === "a" && { onProgress: (now: DispatchProgress) => void progress.push(now) }),
        }),
      ),
    );
    expect(done.map(([tenant]) => tenant).sort()).toEqual([...tenants].sort());
    const doneBy = new Map(done);
    for (const [index, results] of all.entries()) {
      const { workerId } = actors[index]!.lh;
      expect(results.map(({ tenant }) => tenant)).toEqual(tenants);
      for (const result of results) {
        const by = doneBy.get(result.tenant)!;
        if (by === workerId) expect(result).toMatchObject({ is: "done", value: `${result.tenant} by ${by}` });
        else expect(result).toMatchObject({ is: "elsewhere", owner: by });
      }
    }
    const { done: mine = 0, elsewhere = 0 } = counted(all[0]!);
    expect(mine).toBeGreaterThan(5);
    expect(progress).toHaveLength(60);
    expect(progress.at(-1)).toEqual({ total: 60, done: mine, failed: 0, elsewhere });
    expect(await world.sql("select 1 from leasehold.tenant_leases")).toEqual([]);
  });

  test("passes over what is hot, wherever it runs", async () => {
    const { actors, stage } = await trio(named("hot", 6));
    const done: [string, string][] = [];
    for (const { lh, supervisor } of actors) {
      const results = await supervisor.dispatchCold(named("hot", 6), noted(done, lh.workerId));
      expect(results).toEqual(
        named("hot", 6).map((tenant) => ({ tenant, is: "hot", owner: stage.running.get(tenant) })),
      );
    }
    expect(done).toEqual([]);
  });

  test("holds a lease for as long as the task takes: nobody promotes the tenant meanwhile", async () => {
    const world = await setup();
    const stage = new Stage(world);
    const { supervisor } = await stage.enter("a");
    const { passed, open } = gate();
    const tokens: bigint[] = [];
    const dispatched = supervisor.dispatchCold(["x"], async (_, { fenceToken, signal }) => {
      tokens.push(fenceToken);
      await passed;
      return signal.aborted;
    });
    await until("it has begun", () => tokens.length === 1);
    const rows = await world.sql("select owner, source, token::text from leasehold.tenant_leases");
    expect(rows).toEqual([{ owner: "a", source: "task", token: String(tokens[0]) }]);
    await supervisor.tick();
    expect(stage.running.size).toBe(0);
    expect(await supervisor.dispatchCold(["x"], () => 1)).toMatchObject([{ is: "elsewhere", owner: "a" }]);
    open();
    expect(await dispatched).toEqual([{ tenant: "x", is: "done", value: false }]);
    expect(await world.sql("select 1 from leasehold.tenant_leases")).toEqual([]);
  });

  test("refuses options that make no sense before it does anything", async () => {
    const { supervisor } = await new Stage(await setup()).enter("a");
    let done = 0;
    const task = (): number => done++;
    for (const concurrency of [0, -1, 1.5, 1_001])
      await expect(supervisor.dispatchCold(["x"], task, { concurrency })).rejects.toMatchObject({
        code: "LH_INVALID_OPTION",
      });
    await expect(supervisor.dispatchCold(["x", ""], task)).rejects.toMatchObject({ code: "LH_INVALID_KEY" });
    for (const options of [{ id: "" }, { waitMs: -1 }])
      await expect(supervisor.fanOut(["x"], task, options)).rejects.toMatchObject({
        code: "LH_INVALID_OPTION",
      });
    expect(done).toBe(0);
  });
});

describe("a fan-out", () => {
  test("without an id does what this process owns, hot or cold, and names the owners of the rest", async () => {
    const { actors, stage } = await trio(named("hot", 12));
    const tenants = [...named("hot", 12), ...named("cold", 30)];
    const done: [string, string][] = [];
    const all = await Promise.all(
      actors.map(({ lh, supervisor }) => supervisor.fanOut(tenants, noted(done, lh.workerId))),
    );
    expect(done.map(([tenant]) => tenant).sort()).toEqual([...tenants].sort());
    for (const [tenant, worker] of done)
      if (tenant.startsWith("hot")) expect(worker).toBe(stage.running.get(tenant));
    for (const results of all)
      for (const result of results)
        if (result.is === "elsewhere") expect(result.owner).toBe(new Map(done).get(result.tenant));
  });

  test("gives a hot tenant's task the token that it runs under", async () => {
    const { supervisor } = await new Stage(await setup()).enter("a");
    const token = await supervisor.promote("x");
    const [result] = await supervisor.fanOut(["x"], (_, { fenceToken, signal }) => [
      fenceToken,
      signal.aborted,
    ]);
    expect(result).toEqual({ tenant: "x", is: "done", value: [token, false] });
  });

  test("with one id on all does each tenant's task once, and every call ends when all are done", async () => {
    const { actors } = await trio(named("hot", 9));
    const tenants = [...named("hot", 9), ...named("cold", 30)];
    const done: [string, string][] = [];
    const progress: DispatchProgress[] = [];
    const all = await Promise.all(
      actors.map(({ lh, supervisor }) =>
        supervisor.fanOut(tenants, noted(done, lh.workerId), {
          id: "run 1",
          onProgress: (now) => void progress.push(now),
        }),
      ),
    );
    expect(done.map(([tenant]) => tenant).sort()).toEqual([...tenants].sort());
    for (const [index, results] of all.entries()) {
      const { workerId } = actors[index]!.lh;
      const mine = done.filter(([, worker]) => worker === workerId).length;
      expect(counted(results)).toEqual({ done: mine, "done-elsewhere": 39 - mine });
    }
    expect(progress.at(-1)).toEqual({ total: 39, done: 39, failed: 0, elsewhere: 0 });
    const later = await actors[0]!.supervisor.fanOut(tenants, noted(done, "late"), { id: "run 1" });
    expect(counted(later)).toEqual({ "done-elsewhere": 39 });
    expect(done).toHaveLength(39);
  });

  test("with one process that stops in the middle is done by the others, each task once", async () => {
    const { actors } = await trio();
    const [a, b, c] = actors as [Actor, Actor, Actor];
    const tenants = named("t", 30);
    const done: [string, string][] = [];
    const { passed, open } = gate();
    const stopping = a.supervisor.fanOut(
      tenants,
      async (tenant, { signal }) => {
        await passed;
        signal.throwIfAborted();
        done.push([tenant, "a"]);
      },
      { id: "run", concurrency: 1 },
    );
    const others = Promise.all(
      [b, c].map(({ lh, supervisor }) => supervisor.fanOut(tenants, noted(done, lh.workerId), { id: "run" })),
    );
    await until("the others have done theirs", () => done.length >= 10);
    const stopped = a.supervisor.stop();
    open();
    await stopped;
    for (const results of await others)
      expect(counted(results)).toEqual({ done: expect.any(Number), "done-elsewhere": expect.any(Number) });
    expect(done.map(([tenant]) => tenant).sort()).toEqual([...tenants].sort());
    const results = counted(await stopping);
    const { done: mine = 0, failed = 0 } = results;
    expect(mine + failed).toBeLessThanOrEqual(1);
    expect(results["done-elsewhere"]).toBe(30 - mine - failed);
  });

  test("gives up waiting for what nobody does after its time", async () => {
    const { actors } = await trio();
    const tenants = named("t", 20);
    const [a] = actors as [Actor];
    const results = await a.supervisor.fanOut(tenants, () => 1, { id: "alone", waitMs: 0 });
    const { done = 0, elsewhere = 0 } = counted(results);
    expect(done).toBeGreaterThan(0);
    expect(elsewhere).toBe(20 - done);
    const signal = AbortSignal.abort();
    expect(counted(await a.supervisor.fanOut(tenants, () => 1, { id: "none", signal }))).toEqual({
      elsewhere: 20,
    });
  });
});
