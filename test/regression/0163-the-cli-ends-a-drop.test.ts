import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

test("a drop that was interrupted is ended by queues drop", async () => {
  const world = await setup();
  await world.queue("mail");
  // What the first transaction of a drop leaves: the archive, and a row that only a drop sees.
  await world.sql("drop table leasehold.mail");
  await world.sql("update leasehold.queues set dropped_at = now() where name = 'mail'");
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const drop = ["queues", "drop", "mail"];

  const asked = await leasehold(drop, { environment, answers: ["n"] });
  expect(asked.exitCode).toBe(1);
  expect(asked.questions).toEqual([
    "There is no queue mail that can be opened. This ends a drop of it that was interrupted. Go on? [y/N] ",
  ]);
  const dropped = await leasehold([...drop, "--yes"], { environment });
  expect(dropped).toMatchObject({ exitCode: 0, stdout: "Dropped mail.\n" });
  expect(await world.sql("select name from leasehold.queues")).toEqual([]);
  expect(await leasehold([...drop, "--yes", "--json"], { environment })).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining("LH_UNKNOWN_QUEUE"),
  });
});
