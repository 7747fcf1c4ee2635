import { expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** list({ status: "dead_letter" }) read the whole archive: 60 ms at 400 000 rows where there was no dead letter among them. */

async function archived(world: World, status: string, rows: number): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, finished_at, attempts, crashes, max_attempts, priority, partition_bucket, status, kind,
       partition_key, headers, errors, payload)
     select leasehold.uuid_v7(), n, 1, now(), now(), now(), 1, 0, 3, 0, 0, $1, 'k', 'p', '{}', '[]', '{}' from generate_series(1, $2) n`,
    [status, rows],
  );
}

/** Rows of the archive that were looked at since it was made. A connection tells when it ends. */
async function rowsRead(world: World): Promise<number> {
  const [reads] = await world.sql<{ rows: number }>(
    `select sum(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0))::int as rows
     from pg_partition_tree('leasehold.inbox_archive') t join pg_stat_user_tables s on s.relid = t.relid where t.isleaf`,
  );
  return reads?.rows ?? 0;
}

test("a list of dead letters reads no other row of the archive, however often it is called", async () => {
  const world = await setup();
  await world.queue();
  await archived(world, "completed", 2_000);
  await archived(world, "dead_letter", 3);
  await archived(world, "completed", 2_000);
  await world.sql("analyze leasehold.inbox_archive");
  const before = await rowsRead(world);
  const calls = 12; // With ten or so the server may go over to a plan for all values.
  const lh = await world.connect({ connectionsMax: 2 });
  const inbox = await lh.queue("inbox");
  for (let call = 0; call < calls; call++)
    expect(await inbox.list({ status: "dead_letter", kind: "k" })).toHaveLength(3);
  await lh.close();
  await expect
    .poll(async () => (await rowsRead(world)) - before, { timeout: 20_000 })
    .toBeGreaterThanOrEqual(3 * calls);
  expect((await rowsRead(world)) - before).toBe(3 * calls);
});
