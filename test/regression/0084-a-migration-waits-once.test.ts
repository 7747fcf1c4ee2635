import { expect, test } from "vitest";
import { lockTables } from "../../src/database/lock-tables.js";
import { library } from "../../src/database/migrations.generated.js";
import { setup } from "../support/world.js";

/** A migration waited up to 900 ms for each table it changes, one after the other, and kept everybody from the first while it waited for the next. */

const limitMs = 1_500;

test("a migration has one limit for all its tables, not one for each", async () => {
  const world = await setup();
  await world.queue();
  const first = await world.client();
  const second = await world.client();
  await first.query(`begin; lock table ${world.schema}.inbox in row exclusive mode`);
  await second.query(`begin; lock table ${world.schema}.inbox_archive in row exclusive mode`);
  const migrating = await world.client();
  // Ends the statement if the waits together are longer than the limit. Both are timers of one backend, and the earlier one counts, however late it is noticed.
  await migrating.query(`begin; set local statement_timeout = ${limitMs * 1.5}`);
  const { sql } = library.migrations.find(({ id }) => id === 3) ?? { sql: "" };
  const names = { schema: world.schema, queue: "inbox" };
  const ended = lockTables(migrating, sql, names, limitMs).then(
    () => null,
    (error: { code: string }) => error.code,
  );

  const waited = async (): Promise<number> => {
    const [wait] = await world.sql<{ ms: number }>(
      `select extract(epoch from clock_timestamp() - waitstart)::float8 * 1000 as ms
       from pg_locks where not granted and relation = 'leasehold.inbox'::regclass`,
    );
    return wait?.ms ?? 0;
  };
  await expect.poll(waited, { timeout: 20_000, interval: 10 }).toBeGreaterThan(limitMs * 0.6);
  await first.query("commit");
  expect(await ended).toBe("55P03"); // lock_not_available; 57014 is the limit of the statement
});

test("the limit of a wait that came in time is not kept for what follows", async () => {
  const world = await setup();
  await world.queue();
  const migrating = await world.client();
  await migrating.query("begin; set local lock_timeout = '7s'");
  const names = { schema: world.schema, queue: "inbox" };
  await lockTables(migrating, "alter table leasehold.inbox set (fillfactor = 50)", names, limitMs);
  expect((await migrating.query("show lock_timeout")).rows).toEqual([{ lock_timeout: "7s" }]);
});
