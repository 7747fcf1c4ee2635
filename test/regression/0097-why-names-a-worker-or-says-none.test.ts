import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** It said "so null takes it next". */
test("no_owner: who has a handler for the kind may not own the bucket", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", excludeRegions: ["far"] });
  const { id } = await inbox.enqueue("step", 1);
  await world.sql(
    `insert into leasehold.workers (id, region, queues, kinds) values
       ('near', 'near', '{inbox}', '{"inbox": ["other"]}'), ('far', 'far', '{inbox}', '{"inbox": ["step"]}')`,
  );
  const why = await inbox.why(id);
  expect(why.reason).toBe("no_owner");
  expect(why.words).toMatch(
    /; near, the owner of bucket \d+, has no handler for the kind step, and no worker with one may own the bucket: their regions are excluded\.$/,
  );
});
