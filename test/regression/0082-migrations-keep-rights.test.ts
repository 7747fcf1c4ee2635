import { expect, onTestFinished, test } from "vitest";
import { ownRole } from "../support/own-database.js";
import { setup } from "../support/world.js";

/** Functions that a new version brought could not be called by the roles of lh.grant() until it was called again: their workers failed after every such migration. */
test("a migration gives existing roles their rights on what is new", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  await world.lh.grant();
  const roles = ["producer", "worker", "operator", "viewer"]
    .map((role) => `${world.schema}_${role}`)
    .join(", ");
  onTestFinished(async () => void (await world.sql(`drop owned by ${roles}; drop role ${roles}`)));
  const url = await ownRole();
  await world.sql(`grant ${world.schema}_worker to ${url.username}`);
  const worker = await world.connect({ url: url.href });
  // As if the version before had had none of this.
  await world.sql(
    "drop function leasehold.next_token, leasehold.first_token, leasehold.inbox_rest; delete from leasehold.migrations where id in (3, 15)",
  );
  expect(await world.lh.migrate()).toBe(2);
  const jobs = await (await worker.queue("inbox")).claim({ workerId: "w" });
  expect(jobs.map((job) => job.payload)).toEqual([1]);
});
