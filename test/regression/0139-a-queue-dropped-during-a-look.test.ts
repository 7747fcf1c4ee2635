import { expect, test } from "vitest";
import { listQueueSettings } from "../../src/database/statements.generated.js";
import { diagnose, type Leasehold } from "../../src/index.js";
import { surroundingsOf } from "../../src/leasehold.js";
import { createMetrics } from "../../src/metrics.js";
import { setup } from "../support/world.js";

/** A look at all queues failed as a whole when one of them was dropped between the list and its turn. */

/** Drops a queue as soon as the list is there. */
function dropInBetween(lh: Leasehold, name: string): void {
  const { database } = surroundingsOf(lh);
  const run = database.run.bind(database);
  database.run = async (query, ...more) => {
    const rows = await run(query, ...more);
    if (query.name.includes(listQueueSettings.name)) await lh.dropQueue(name);
    return rows;
  };
}

test("diagnose leaves out a queue that is dropped meanwhile", async () => {
  const world = await setup();
  for (const name of ["first", "second", "third"]) await world.lh.queue(name, { order: "key" });
  dropInBetween(world.lh, "second");
  expect((await diagnose(world.lh)).queues).toEqual(["first", "third"]);
});

test("metrics leave out a queue that is dropped meanwhile", async () => {
  const world = await setup();
  for (const name of ["first", "second", "third"]) await world.lh.queue(name, { order: "key" });
  dropInBetween(world.lh, "second");
  const text = await createMetrics(world.lh).text();
  expect([...text.matchAll(/^leasehold_jobs_due\{queue="(\w+)"/gm)].map(([, name]) => name)).toEqual([
    "first",
    "third",
  ]);
});
