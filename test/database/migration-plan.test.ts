import { expect, it } from "vitest";
import { setup } from "../support/world.js";

it("the plan names what migrate would run, and running it changes nothing", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key" });
  expect(await world.lh.plan()).toEqual([]);
  const [before] = await world.sql(
    "delete from leasehold.migrations where queue = 'inbox' and id = 5 returning name",
  );
  expect(before).toBeDefined();
  await world.sql("update leasehold.migrations set checksum = 'other' where queue = '' and id = 1");
  const plan = await world.lh.plan();
  expect(plan).toEqual([
    { file: expect.stringMatching(/^0001_/), queue: null, isRepeated: true },
    { file: expect.stringMatching(/^0005_/), queue: "inbox", isRepeated: false },
  ]);
  expect(await world.lh.plan()).toEqual(plan);
  expect(await world.lh.migrate()).toBe(2);
  expect(await world.lh.plan()).toEqual([]);
});

it("a schema without the newest columns of its own tables is planned and migrated", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key" });
  await world.sql("alter table leasehold.queues drop column dropped_at");
  await world.sql("update leasehold.migrations set checksum = 'older' where queue = '' and id = 1");
  await world.sql("update leasehold.schema_version set revision = revision - 1");
  const [first] = await world.lh.plan();
  expect(first).toMatchObject({ file: expect.stringMatching(/^0001_/), queue: null, isRepeated: true });
  expect(await world.lh.migrate()).toBeGreaterThan(0);
  expect(await world.lh.plan()).toEqual([]);
  expect(await world.lh.queues()).toMatchObject([{ name: "inbox" }]);
});

it("the plan of a schema that does not exist begins with its first file and creates nothing", async () => {
  const world = await setup();
  const lh = await world.connect({ schema: `${world.schema}_new` });
  const plan = await lh.plan();
  expect(plan[0]).toEqual({ file: expect.stringMatching(/^0001_/), queue: null, isRepeated: false });
  expect(plan.every(({ queue }) => queue === null)).toBe(true);
  const found = await world.sql("select 1 from pg_namespace where nspname = $1", [`${world.schema}_new`]);
  expect(found).toEqual([]);
});
