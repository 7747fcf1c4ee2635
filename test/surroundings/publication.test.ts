import { expect, test } from "vitest";
import { caughtUp, contents, logicalServer, onClient, subscribe } from "../support/logical-replication.js";
import { setup, type World } from "../support/world.js";
import { live, setUp } from "./life.js";

async function prepare(world: World): Promise<void> {
  await setUp(world, "key");
  await setUp(world, "none");
}

test("a publication for all tables with a logical subscriber attached: it works, and the subscriber has every row", async () => {
  const { publisher, subscriber } = await logicalServer();
  await onClient(publisher, (client) =>
    client.query("create publication everything for all tables with (publish_via_partition_root = true)"),
  );
  const world = await setup({ schema: "leasehold" }, publisher);
  await prepare(world);
  const copy = await subscribe(world, subscriber, prepare);
  await live(world);
  await world.lh.close();
  await caughtUp(world, copy);
  const published = await contents(publisher, "leasehold");
  expect(published.by_key_archive?.length).toBeGreaterThan(0);
  await expect
    .poll(() => contents(subscriber, "leasehold"), { timeout: 50_000, interval: 200 })
    .toEqual(published);
  await copy.sql("drop subscription everything");
});
