import { expect, test } from "vitest";
import { retryAfter } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { countOf, startWorker, until } from "./worker-world.js";

/**
 * A key whose head waits for its retry, with rows behind it, costs the 10 000 others next to nothing. Counted in rows looked at and in claims, which
 * are the same on every machine; bench/blocked-key.ts measures it in jobs a second.
 */

const keys = 10_000;
const blockedKey = "blocked";
const behind = 50;
const hour = 3_600_000;

/** One job on each of the keys. */
async function fill(world: World): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key) select 'work', '{}', 'key:' || n from generate_series(1, $1::int) n`,
    [keys],
  );
  await world.sql(`analyze leasehold.inbox`);
}

/** Keys with a head that failed and is due in an hour. */
async function block(world: World, names: readonly string[], rowsBehind: number): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, attempts, available_at)
     select 'work', '{}', k.name, case r when 0 then 1 else 0 end, now() + case r when 0 then interval '1 hour' else interval '0' end
     from unnest($1::text[]) k(name) cross join generate_series(0, $2::int) r order by k.name, r`,
    [names, rowsBehind],
  );
}

/** Rows that one claim of everything in a bucket fetches and takes. It is rolled back. */
async function lookedAt(world: World, bucket: number): Promise<{ fetched: number; taken: number }> {
  const client = await world.client();
  await client.query("begin isolation level read committed");
  const claimed = await client.query(
    `select id from ${world.schema}.inbox_claim('probe', $1, null, 500, 20, 500, 1, 60000, null, null) where id is not null`,
    [[bucket]],
  );
  const { rows } = await client.query<{ fetched: number }>(
    `select idx_tup_fetch::int as fetched from pg_stat_xact_user_tables where relid = $1::regclass`,
    [`${world.schema}.inbox`],
  );
  await client.query("rollback");
  await client.end();
  return { fetched: rows[0]?.fetched ?? 0, taken: claimed.rows.length };
}

/** Claims and completes until nothing is to be had any more; how many claims gave rows, and how many rows in all. */
async function drainByHand(world: World): Promise<{ claims: number; rows: number }> {
  const inbox = await world.lh.queue("inbox");
  let [claims, rows, empty] = [0, 0, 0];
  // Several empty ones in a row: a claim visits some hundred keys at most, and those may all be blocked.
  while (empty < 6) {
    const jobs = await inbox.claim({ workerId: "hand", limit: 500 });
    empty = jobs.length === 0 ? empty + 1 : 0;
    if (jobs.length > 0) claims++;
    rows += jobs.length;
    await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" as const } })));
  }
  return { claims, rows };
}

async function filledWorld(): Promise<World> {
  const it = await setup();
  await it.queue();
  await fill(it);
  return it;
}

test("a claim looks at a window of a blocked key, however many rows are behind it", async () => {
  const it = await filledWorld();
  const [row] = await it.sql<{ bucket: number }>(`select leasehold.bucket_of($1, 360) as bucket`, [
    blockedKey,
  ]);
  const bucket = row?.bucket ?? 0;
  const figures: { behind: number; fetched: number; taken: number }[] = [];
  figures.push({ behind: -1, ...(await lookedAt(it, bucket)) });
  for (const count of [0, behind, 5_000]) {
    await it.sql(`delete from leasehold.inbox where partition_key = $1`, [blockedKey]);
    await block(it, [blockedKey], count);
    await it.sql(`vacuum analyze leasehold.inbox`);
    figures.push({ behind: count, ...(await lookedAt(it, bucket)) });
  }
  process.stdout.write(`blocked key, rows looked at: ${JSON.stringify(figures)}\n`);
  const [without, alone, some, many] = figures;
  expect(without?.taken).toBeGreaterThan(10);
  expect(figures.map((one) => one.taken)).toEqual(figures.map(() => without?.taken));
  expect((alone?.fetched ?? 0) - (without?.fetched ?? 0)).toBeLessThanOrEqual(10);
  expect((some?.fetched ?? 0) - (without?.fetched ?? 0)).toBeLessThanOrEqual(40);
  expect(many?.fetched).toBe(some?.fetched);
});

test("10 000 keys take as many claims beside a blocked one as without it", async () => {
  const figures: Record<string, { claims: number; rows: number }> = {};
  for (const blocked of [0, 1, 2_000]) {
    const it = await filledWorld();
    await block(
      it,
      Array.from({ length: blocked }, (_, i) => `${blockedKey}:${i}`),
      behind,
    );
    figures[blocked] = await drainByHand(it);
    expect(figures[blocked].rows).toBe(keys);
  }
  process.stdout.write(`blocked key, claims of up to 500: ${JSON.stringify(figures)}\n`);
  const claims = (blocked: number): number => figures[blocked]?.claims ?? Number.NaN;
  expect(claims(0)).toBe(keys / 500);
  expect(claims(1)).toBeLessThanOrEqual(claims(0) + 1);
}, 120_000);

test("a worker completes all others while the blocked key waits, and leaves the rows behind its head alone", async () => {
  const it = await setup();
  const inbox = await it.queue();
  const blocked = Array.from({ length: behind + 1 }, () => ({
    kind: "blocked",
    payload: null,
    partitionKey: blockedKey,
  }));
  await inbox.enqueueMany(blocked);
  await fill(it);
  let [done, failed, claims] = [0, 0, 0];
  it.lh.on("jobs:claimed", () => void claims++);
  await startWorker(it.lh, {
    work: () => void done++,
    blocked: () => {
      failed++;
      throw retryAfter(hour);
    },
  });
  await until("all others are done", () => done === keys, 60_000);
  await until("their outcomes are written", async () => (await countOf(it, "processing")) === 0);
  process.stdout.write(`blocked key, worker: ${JSON.stringify({ done, failed, claims })}\n`);
  const rows = await it.sql<{ attempts: number; status: string; count: number }>(
    `select attempts, status, count(*)::int as count from leasehold.inbox group by attempts, status order by attempts`,
  );
  expect(rows).toEqual([
    { attempts: 0, status: "pending", count: behind },
    { attempts: 1, status: "pending", count: 1 },
  ]);
  expect(failed).toBe(1);
}, 90_000);
