import { expect, test } from "vitest";
import { Stage } from "../support/tenant-stage.js";
import { setup, type World } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

interface Row {
  readonly generation: string;
  readonly isBack: boolean;
}

/** It is back when it is alive with a session: nothing is left to register again for. */
async function rowOf(world: World, id: string): Promise<Row> {
  const [row] = await world.sql<Row>(
    `select generation::text, status = 'alive' and has_session as "isBack" from leasehold.workers where id = $1`,
    [id],
  );
  return row ?? { generation: "0", isBack: false };
}

/** A worker that was marked dead registered without its session, and again once the session had answered: two generations for one eviction. */
test("an eviction raises the generation by one", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  await startWorker(world.lh, { k: () => {} });
  const registered = heard(world.lh, "worker:registered");
  for (const generation of ["2", "3", "4"]) {
    await world.lh.evict("a");
    await until("it is back with its session", async () => {
      const row = await rowOf(world, "a");
      return row.isBack && row.generation >= generation;
    });
    expect(await rowOf(world, "a")).toEqual({ generation, isBack: true });
  }
  expect(registered.map(({ hasSession }) => hasSession)).toEqual([true, true, true]);
});

/** Restarts were counted by the generation, which also rises when a process registers again. */
test("a worker that is evicted again and again is not reported as a restart loop, one that restarts is", async () => {
  const world = await setup();
  const stage = new Stage(world, { hot: () => [] });
  const { lh, supervisor } = await stage.enter("a");
  const looping = heard(lh, "worker:looping");
  const ticks = heard(lh, "tenants:shared");
  const looked = async (): Promise<void> => {
    const before = ticks.length;
    await until("it has looked at the members again", () => ticks.length > before + 1);
  };
  await stage.enter("evicted");
  await looked();
  for (let round = 0; round < 5; round++) {
    const before = await rowOf(world, "evicted");
    await lh.evict("evicted");
    await until("it is back", async () => {
      const row = await rowOf(world, "evicted");
      return row.isBack && row.generation !== before.generation;
    });
    await looked();
  }
  expect(looping).toEqual([]);
  for (let round = 0; round < 5; round++) {
    const { supervisor: restarted } = await stage.enter("restarted");
    await looked();
    if (round < 4) await restarted.stop();
  }
  expect(looping).toMatchObject([{ workerId: "restarted", restarts: 4 }]);
  expect(supervisor.metrics().restartLoops).toEqual(["restarted"]);
}, 60_000);
