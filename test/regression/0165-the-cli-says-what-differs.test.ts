import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

test("queues create of a queue with other settings is a conflict, also for those that can be changed", async () => {
  const world = await setup();
  await world.queue("inbox", { order: "key" });
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const create = ["queues", "create", "inbox", "--max-attempts"];
  const other = await leasehold([...create, "5", "--retention", "2d"], { environment });
  expect(other).toMatchObject({ exitCode: 4, stdout: "" });
  expect(other.stderr).toBe(
    "error CLI_QUEUE_DIFFERS: The queue inbox exists with other settings: --retention is 7 d, you asked for 2 d; --max-attempts is 12, you asked for 5.\n" +
      "advice: Change them: leasehold queues change inbox; its --help lists the options.\n",
  );
  expect((await world.lh.queues())[0]).toMatchObject({ maxAttempts: 12 });
  const same = await leasehold([...create, "12"], { environment });
  expect(same).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("exists already") });
});
