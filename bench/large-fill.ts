import type pg from "pg";

/** What dead letters died of; a number takes the place of %s. */
const errors = [
  "connect ECONNREFUSED 10.0.3.%s:5432",
  "HTTP 503 from https://pay.example/v1/charges/%s",
  "HTTP 429 from https://mail.example/send?id=%s: retry in 30 s",
  'duplicate key value violates unique constraint "orders_pkey" for "order-%s"',
  "deadlock detected: process %s waits for ShareLock",
  "timeout of 3%s ms exceeded",
  "Cannot read properties of undefined (reading 'total%s')",
  "invoice %s not found",
  "the customer %s is blocked",
  "payload version %s is not supported",
  "getaddrinfo ENOTFOUND shard-%s.internal",
  "certificate of host-%s expired at 2026-10-01T00:00:00Z",
  "the lease ran out before the attempt was settled (%s)",
  "out of memory at 0xdeadbeef%s",
  "unexpected token in JSON at position %s",
  "insufficient funds on account %s",
  "quota of tenant %s is used up",
  "file /data/in/%s.csv is missing",
  "currency %s is unknown",
  "rate of %s per second exceeded",
] as const;

/**
 * Fills a queue straight through its table: pending rows on 100 000 keys, one of them with a long line, scheduled rows, and dead letters with 20 kinds of errors that
 * differ in numbers. Indexes are built afterwards, which takes a third of the time.
 */
export async function fillLargeQueue(client: pg.Client, queue: string, rows: number): Promise<void> {
  const table = `leasehold.${queue}`;
  const indexes = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not indisprimary order by 1`,
    [table],
  );
  for (const { name } of indexes.rows) await client.query(`drop index ${name}`);
  await client.query("set synchronous_commit = off; set maintenance_work_mem = '512MB'");
  await client.query(insertRows(table), [rows, errors]);
  await client.query(`select setval('${table}_seq', $1), setval('leasehold.lease_tokens', $1)`, [rows]);
  for (const { definition } of indexes.rows) await client.query(definition);
  await client.query(
    `insert into leasehold.workers (id, queues, ttl, last_seen_at) select 'worker-' || n, array[$1], '1 hour', now() from generate_series(0, 3) n
     on conflict do nothing`,
    [queue],
  );
  await client.query(`vacuum (analyze) ${table}`);
}

/** Of ten rows eight are pending, one is scheduled and one dead. A hundredth of the pending rows is one long line; 400 rows at the front are in process on 4 workers. */
function insertRows(table: string): string {
  return `
insert into ${table} (id, seq, lease_generation, available_at, created_at, claimed_at, lease_expires_at, finished_at, attempts, max_attempts, status, kind,
  partition_key, claimed_by, last_error, payload)
select (lpad(to_hex((extract(epoch from t.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid,
  n, case when s.status = 'processing' then n else 0 end, case when s.status = 'scheduled' then now() + n * interval '1 ms' else t.at end, t.at,
  case when s.status = 'processing' then now() end, case when s.status = 'processing' then now() + interval '1 hour' end,
  case when s.status = 'dead_letter' then t.at + interval '1 minute' end,
  case s.status when 'dead_letter' then 12 when 'processing' then 1 else 0 end, 12, s.status,
  (array['order.step', 'receipt.send', 'mail.send', 'invoice.make', 'report.build'])[1 + n % 5],
  case when n % 125 = 1 then 'tenant:hot' else 'order:' || (n / 10 % (least(1000000, $1) / 10)) end,
  case when s.status = 'processing' then 'worker-' || (n % 4) end,
  case when s.status = 'dead_letter' then replace(($2::text[])[1 + (n / 10) % 20], '%s', (n::bigint * 7919 % 1000003)::text) end,
  jsonb_build_object('order', n, 'customer', md5(n::text), 'note', repeat('x', 120))
from generate_series(1, $1::int) n
cross join lateral (select now() - ($1 - n) * interval '1 day' / $1 as at) t
cross join lateral (
  select case when n % 10 = 9 then 'dead_letter' when n % 10 = 8 then 'scheduled' when n <= 4000 and n % 10 = 2 then 'processing' else 'pending' end as status) s`;
}
