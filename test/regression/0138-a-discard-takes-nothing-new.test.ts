import { expect, test } from "vitest";
import { defaults } from "../../src/settings.js";
import { setup } from "../support/world.js";

/** The set was bounded by the highest id: with one row whose id sorts last, jobs that were enqueued while discard ran were taken too. */

test("a discard leaves what is enqueued while it runs, although an old job has the last id", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none" });
  // More than are picked at once. The trigger would take half a minute for so many.
  await world.sql("alter table leasehold.inbox disable trigger user");
  await world.sql(
    `insert into leasehold.inbox (id, seq, kind, payload, partition_key, max_attempts)
     select ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, nextval('leasehold.inbox_seq'), 'old', '1', 'k', 12 from generate_series(1, $1::int) i`,
    [defaults.operatePickRows + 500],
  );
  await world.sql("alter table leasehold.inbox enable trigger user");
  await world.sql(
    "insert into leasehold.inbox (id, kind, payload) values ('f47ac10b-58cc-4372-a567-0e02b2c3d479', 'old', '1')",
  );
  // Most of them go another way, so that the test is quick; what is left of the old is taken.
  const meanwhile = async (): Promise<void> => {
    await world.sql("delete from leasehold.inbox where seq between 2000 and $1", [defaults.operatePickRows]);
    await inbox.enqueueMany(Array.from({ length: 10 }, (_, i) => ({ kind: "new", payload: i })));
  };
  let between: Promise<void> | null = null;
  // The second batch waits for this row, so what happens meanwhile lies between the first and the last pick.
  const blocker = await world.client();
  await blocker.query("begin");
  await blocker.query(`select 1 from ${world.schema}.inbox where seq = 1500 for update`);
  const progress = (): void => {
    between ??= meanwhile().finally(() => blocker.query("commit"));
  };
  const discarded = await inbox.discard({ status: "pending" }, progress);
  await between;
  expect(discarded).toBe(1_999 + 501);
  expect((await inbox.list()).map(({ kind }) => kind)).toEqual(Array(10).fill("new"));
});
