import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { processesOf } from "../support/tenant-holders.js";
import { Stage, settledFleet } from "../support/tenant-stage.js";
import { setup } from "../support/world.js";
import { gate, until } from "../worker/worker-world.js";

/** What becomes of tasks when tenants, supervisors and those who watch them come to an end. */

const named = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `t${n}`);

test("a win that comes after the tenant was dropped does not bring it back", async () => {
  const { started } = processesOf(await setup());
  const [a, b] = [await started("a"), await started("b")];
  const token = (await a.win("x"))!;
  await a.ownership.drop([{ tenant: "x", token }]);
  expect(await b.win("x", token)).toBeNull();
});

describe("a run with an id", () => {
  test("is not done again by who takes over in its middle", async () => {
    const stage = new Stage(await setup());
    const [a, b] = [await stage.enter("a"), await stage.enter("b")];
    await settledFleet([a, b]);
    const tenants = named(20);
    const done: string[] = [];
    const { passed, open } = gate();
    const slow = b.supervisor.fanOut(
      tenants,
      async (tenant) => {
        await passed;
        done.push(tenant);
      },
      { id: "run", concurrency: 1 },
    );
    const mine = tenants.filter((tenant) => a.supervisor.owner(tenant) === "a").length;
    void a.supervisor.fanOut(tenants, (tenant) => void done.push(tenant), { id: "run" }).catch(() => {});
    await until("a has done its part", () => done.length === mine);
    await a.supervisor.stop();
    await until("b knows", () => tenants.every((tenant) => b.supervisor.owner(tenant) === "b"));
    open();
    const results = await slow;
    expect(done.sort()).toEqual([...tenants].sort());
    expect(results.filter(({ is }) => is === "done-elsewhere")).toHaveLength(mine);
  });

  test("alone tells only of what it was asked for, and an id that can't be stored is refused", async () => {
    const { supervisor } = await new Stage(await setup()).enter("a", { fleet: false });
    await supervisor.fanOut(["x", "y"], () => 1, { id: "run" });
    const results = await supervisor.fanOut(["y", "z"], () => 1, { id: "run" });
    expect(results.map(({ tenant, is }) => `${tenant} ${is}`)).toEqual(["y done-elsewhere", "z done"]);
    const refused = supervisor.fanOut(["x"], () => 1, { id: "a\0" });
    await expect(refused).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
  });
});

test("a stop waits for tasks under way, so that nobody else begins them meanwhile", async () => {
  const world = await setup();
  const held = gate();
  const stage = new Stage(world);
  const a = await stage.enter("a");
  let atWork = 0;
  let most = 0;
  const task = async (): Promise<void> => {
    most = Math.max(most, ++atWork);
    await held.passed;
    atWork--;
  };
  const first = a.supervisor.dispatchCold(["x"], task);
  await until("it has begun", () => atWork === 1);
  const b = await stage.enter("b");
  let isStopped = false;
  const stopping = a.supervisor.stop().then(() => {
    isStopped = true;
  });
  for (let looks = 0; looks < 20; looks++) await world.sql("select 1");
  expect(isStopped).toBe(false);
  held.open();
  await stopping;
  await until("b would", () => b.supervisor.owner("x") === "b");
  await b.supervisor.dispatchCold(["x"], task);
  await first;
  expect(most).toBe(1);
});

test("the end of a tenant waits for tasks under its lease, and aborts their signal", async () => {
  const { supervisor } = await new Stage(await setup()).enter("a");
  await supervisor.promote("x");
  let isOver = false;
  let wasAborted = false;
  let hasBegun = false;
  const out = supervisor.fanOut(["x"], async (_, { signal }) => {
    hasBegun = true;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await sleep(100);
    wasAborted = signal.aborted;
    isOver = true;
  });
  await until("it has begun", () => hasBegun);
  await supervisor.demote("x");
  expect({ isOver, wasAborted }).toEqual({ isOver: true, wasAborted: true });
  await out;
});

test("a process alone starts no task after its stop", async () => {
  const { supervisor } = await new Stage(await setup()).enter("a", { fleet: false });
  const begun: string[] = [];
  const out = supervisor.dispatchCold(
    named(10),
    async (tenant) => {
      begun.push(tenant);
      await sleep(50);
    },
    { concurrency: 1 },
  );
  await until("some have begun", () => begun.length === 2);
  await supervisor.stop();
  const count = begun.length;
  const results = await out;
  expect(begun).toHaveLength(count);
  expect(results.filter(({ is }) => is === "elsewhere")).toHaveLength(10 - count);
});

test("who watches and throws stops no task", async () => {
  const { supervisor } = await new Stage(await setup()).enter("a");
  const onProgress = (): void => {
    throw new Error("the watcher is broken");
  };
  const results = await supervisor.dispatchCold(["x", "y"], () => 1, { onProgress });
  expect(results.map(({ is }) => is)).toEqual(["done", "done"]);
});
