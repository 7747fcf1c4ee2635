import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A migration waited up to 900 ms for each table it changes, one after the other, and kept everybody from the first while it waited for the next. */

interface Wait {
  readonly transaction: string;
  readonly ms: number;
}

test("a migration waits for all its tables together no longer than for one", async () => {
  const world = await setup();
  await world.queue();
  await world.sql("delete from leasehold.migrations where queue = 'inbox' and id = 3");
  const first = await world.client();
  const second = await world.client();
  await first.query(`begin; lock table ${world.schema}.inbox in row exclusive mode`);
  await second.query(`begin; lock table ${world.schema}.inbox_archive in row exclusive mode`);
  const waitFor = async (table: string): Promise<Wait | undefined> =>
    (
      await world.sql<Wait>(
        `select virtualtransaction as transaction, extract(epoch from clock_timestamp() - waitstart)::float8 * 1000 as ms
         from pg_locks where not granted and relation = 'leasehold.${table}'::regclass`,
      )
    )[0];
  const migrated = world.lh.migrate();

  let before = await waitFor("inbox");
  while (before === undefined || before.ms < 500) before = await waitFor("inbox");
  await first.query("commit");
  // The same transaction may wait for the rest of its 900 ms, and no longer. With a limit for each table it waits for 500 ms and 900 ms more.
  let longestMs = 0;
  const isOpen = async (transaction: string) =>
    (await world.sql("select from pg_locks where virtualtransaction = $1", [transaction])).length > 0;
  while (await isOpen(before.transaction)) {
    const now = await waitFor("inbox_archive");
    if (now?.transaction === before.transaction) longestMs = Math.max(longestMs, now.ms);
  }
  expect(before.ms + longestMs).toBeLessThan(1_300);

  await second.query("commit");
  expect(await migrated).toBe(1);
});
