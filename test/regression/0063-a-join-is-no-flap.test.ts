import { expect, test } from "vitest";
import { type Actor, named, Stage } from "../support/tenant-stage.js";
import { setup, type World } from "../support/world.js";
import { until } from "../worker/worker-world.js";

const tickMs = 1_000;

/** Of the ticks of a process that found tenants which should run elsewhere: how many tenants it had moved, in all, when each of them ended. */
function movesAtTicks({ lh, supervisor }: Actor): number[] {
  const moves: number[] = [];
  lh.on("tenants:shared", ({ moving }) => {
    if (moving > 0) moves.push(supervisor.metrics().movesTotal);
  });
  return moves;
}

/** Alive for longer than a tick, so that it counts when tenants are shared out and a newcomer does not. */
async function untilSettled(world: World, id: string): Promise<void> {
  await until(`${id} is settled`, async () => {
    const rows = await world.sql(
      "select 1 from leasehold.workers where id = $1 and alive_since < clock_timestamp() - $2 * interval '1.1 ms'",
      [id, tickMs],
    );
    return rows.length > 0;
  });
}

/** A worker had to be settled for most of a tick, and then two ticks of each owner had to agree: 58 s at the defaults. */
test("tenants move to a worker that joins at the first tick that wants them to", async () => {
  const world = await setup();
  const stage = new Stage(world, { hot: () => named("t", 20), tickMs });
  const a = await stage.enter("a");
  await untilSettled(world, "a");
  const moves = movesAtTicks(a);
  await stage.enter("b");
  await until("it has its share", () => stage.tenantsOf("b").length >= 9 && stage.running.size === 20);
  expect(moves[0]).toBeGreaterThan(0);
  expect(stage.overlaps).toEqual([]);
}, 60_000);

test("a worker that was planned to stop and comes back joins; one that was lost and comes back has to convince two ticks", async () => {
  const world = await setup();
  const stage = new Stage(world, { hot: () => named("t", 20), tickMs });
  const a = await stage.enter("a");
  await untilSettled(world, "a");
  const { supervisor } = await stage.enter("b");
  await supervisor.stop();
  await until("all run on a", () => stage.tenantsOf("a").length === 20);
  const back = movesAtTicks(a);
  const b = await stage.enter("b");
  const hasShare = (): boolean => stage.tenantsOf("b").length >= 9 && stage.running.size === 20;
  await until("it has its share", hasShare);
  expect(back[0]).toBeGreaterThan(0);
  await b.lh.evict("b");
  await until("it has ended its tenants", () => stage.tenantsOf("a").length === 20);
  const before = a.supervisor.metrics().movesTotal;
  const returned = movesAtTicks(a);
  await until("it has its share again", hasShare);
  expect(returned[0]).toBe(before);
  expect(stage.overlaps).toEqual([]);
}, 60_000);
