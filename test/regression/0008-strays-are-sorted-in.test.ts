import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { settleJobs } from "../../src/database/statements.generated.js";
import { settableClock, setup } from "../support/world.js";

const dayMs = 86_400_000;

/** Days were made for today and later only, and a settle into the rest could refuse the attach. */
test("housekeeping survives a settle that commits into the rest while today's day is attached", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  clock.advance(20 * dayMs);
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  const settle = await world.client();
  await settle.query("begin");
  const outcomes = JSON.stringify([{ id: job!.id, token: job!.fenceToken.toString(), outcome: "complete" }]);
  const bind = binder({ schema: world.schema, queue: "inbox" });
  const query = bind(settleJobs, { outcomes, workerId: "w", now: clock.databaseNow() });
  await settle.query(query.text, [...query.values]);
  const round = world.lh.housekeep();
  const waiting = "select 1 from pg_locks where not granted and relation = $1::regclass";
  for (let i = 0; i < 2_000; i++) {
    if ((await world.sql(waiting, [`${world.schema}.inbox_archive_rest`])).length > 0) break;
  }
  await settle.query("commit");
  expect(await round).toMatchObject({ elected: true });
});

test("the next round sorts in what strayed yesterday, and says so once", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  clock.advance(20 * dayMs);
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  await inbox.complete(job!);
  clock.advance(dayMs);
  const seen: unknown[] = [];
  world.lh.on("archive:strayed", (event) => seen.push(event));
  for (let i = 0; i < 3; i++) await world.lh.housekeep();
  expect(await world.sql("select 1 from leasehold.inbox_archive_rest")).toEqual([]);
  expect(seen).toHaveLength(1);
});
