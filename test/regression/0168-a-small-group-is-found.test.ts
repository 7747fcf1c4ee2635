import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** As many groups as one call gives; a smaller one beside them is among those that it leaves out. */
const groups = 1_000;

test("a group that the count leaves out for its size is redriven, not unknown", async () => {
  const world = await setup();
  const queue = await world.queue();
  await world.sql(
    `insert into leasehold.inbox (kind, status, finished_at, last_error)
     select 'large' || n % $1::int, 'dead_letter', now(), 'disk full' from generate_series(1, 2 * $1::int) n
     union all select 'small', 'dead_letter', now(), 'no such order'`,
    [groups],
  );
  const [small] = (await queue.deadLetters({ kind: "small" })).groups;
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const redrive = ["dead", "redrive", "inbox", small?.fingerprint ?? ""];
  expect(await leasehold(redrive, { environment })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("This redrives 0 or more dead letters of inbox."),
  });
  expect(await leasehold([...redrive, "--yes"], { environment })).toMatchObject({
    exitCode: 0,
    stdout: "Redriven: 1.\n",
  });
});
