import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** Looks after the session locks as `watcher` does, on a session of its own. `at` is in seconds. */
async function watcher(world: World): Promise<(isWatcher: boolean, at: number) => Promise<unknown>> {
  const client = await world.client();
  return async (isWatcher, at) => {
    const { rows } = await client.query(
      `select is_watcher, marked from ${world.schema}.watch_workers('watcher', $1, 1500, timestamptz '2041-05-06' + $2 * interval '1 s')`,
      [isWatcher, at],
    );
    return rows[0];
  };
}

async function addWorkers(world: World, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await world.sql("insert into leasehold.workers (id, queues, has_session) values ($1, '{inbox}', true)", [
      id,
    ]);
}

test("a worker whose session lock stays free for the grace is marked dead", async () => {
  const world = await setup();
  await world.queue();
  await addWorkers(world, ["watcher", "gone"]);
  const look = await watcher(world);
  expect(await look(false, 0)).toEqual({ is_watcher: true, marked: [] });
  expect(await look(true, 1.4)).toEqual({ is_watcher: true, marked: [] });
  expect(await look(true, 1.5)).toEqual({ is_watcher: true, marked: ["gone"] });
});

test("for a new watcher the grace begins anew: the one before may have been unable to see that the lock was held again", async () => {
  const world = await setup();
  await world.queue();
  await addWorkers(world, ["watcher", "gone"]);
  const look = await watcher(world);
  await look(false, 0);
  expect(await look(false, 10)).toEqual({ is_watcher: true, marked: [] });
  expect(await look(true, 11.4)).toEqual({ is_watcher: true, marked: [] });
  expect(await look(true, 11.5)).toEqual({ is_watcher: true, marked: ["gone"] });
});

test("more than half of the fleet free at once looks like a restarted server, and nobody is marked", async () => {
  const world = await setup();
  await world.queue();
  await addWorkers(world, ["watcher", "a", "b"]);
  const look = await watcher(world);
  await look(false, 0);
  expect(await look(true, 10)).toEqual({ is_watcher: true, marked: [] });
  expect(await look(true, 20)).toEqual({ is_watcher: true, marked: [] });
});
