-- Search: a walk over a bounded number of rows. Each statement gives what it has found, how many rows it has looked at, where the next call goes on (`last_id`), and whether
-- that was the end. `walked` is filled row by row as `found` asks for more, so a page that is full early ends the walk. One statement, so one snapshot: nothing is skipped between what was looked at
-- and where the next call begins. One row without a job comes back when nothing was found.

-- name: search_jobs
-- Locks nothing; rows of the queue, newest first, by inbox_pkey.
-- nullable: before, status, kind, partition_key, worker_id, error, fingerprint, payload, older_ms, newer_ms, now
-- row: looked bigint, is_end boolean, last_id uuid?
-- row: id uuid?, seq bigint?, kind text?, payload jsonb?, headers jsonb?, partition_key text?, partition_bucket int?, status text?, attempts int?, crashes int?, max_attempts int?, priority int?, available_at timestamptz?, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint?, last_error text?, errors jsonb?, idempotency_key text?, created_at timestamptz?, finished_at timestamptz?, payload_omitted boolean?
with walked as materialized (
  select w.id, row_number() over (order by w.id desc) as n, w.is_match from (
    select j.id,
           (j.status = coalesce(:status::text, j.status) and j.kind = coalesce(:kind::text, j.kind) and j.partition_key = coalesce(:partition_key::text, j.partition_key)
           and (:worker_id::text is null or j.claimed_by = :worker_id or j.errors -> -1 ->> 'worker' = :worker_id) and (:older_ms::float8 is null or j.created_at <= coalesce(:now::timestamptz, now()) - :older_ms * interval '1 ms')
           and (:newer_ms::float8 is null or j.created_at >= coalesce(:now::timestamptz, now()) - :newer_ms * interval '1 ms')
           and (:error::text is null or strpos(lower(j.last_error), lower(:error)) > 0) and (:fingerprint::text is null or leasehold.error_fingerprint(j.last_error) = :fingerprint)
           and (:payload::jsonb is null or j.payload @> :payload::jsonb)) as is_match
    from leasehold.inbox j where j.id <= coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and j.id is distinct from :before order by j.id desc limit :rows::int) w
), found as materialized (
  select w.id, w.n from walked w where w.is_match limit :limit::int
), reach as materialized (
  select r.is_full, case when r.is_full then r.n else (select count(*) from walked) end as looked
  from (select count(*) = :limit as is_full, max(f.n) as n from found f) r
)
select r.looked, not r.is_full and r.looked < :rows as is_end,
       case when r.is_full then (select f.id from found f order by f.n desc limit 1) else (select w.id from walked w order by w.n desc limit 1) end as last_id,
       j.id, j.seq, j.kind, case when j.bytes <= :payload_bytes::int then j.payload end as payload, case when j.bytes <= :payload_bytes then j.headers else '{}' end as headers, j.partition_key, j.partition_bucket, j.status, j.attempts, j.crashes, j.max_attempts, j.priority, j.available_at, j.claimed_by, j.claimed_at,
       j.lease_expires_at as lease_expires_at, j.lease_generation, j.last_error, j.errors, j.idempotency_key, j.created_at, j.finished_at, j.bytes > :payload_bytes as payload_omitted
from reach r left join (found f join leasehold.inbox j on j.id = f.id) on true
order by f.n;

-- name: search_held_jobs
-- Locks nothing; rows of the queue, oldest first, by inbox_pkey: what is in process is at the front of its line.
-- nullable: after, status, kind, partition_key, worker_id, error, fingerprint, payload, older_ms, newer_ms, now
-- row: looked bigint, is_end boolean, last_id uuid?
-- row: id uuid?, seq bigint?, kind text?, payload jsonb?, headers jsonb?, partition_key text?, partition_bucket int?, status text?, attempts int?, crashes int?, max_attempts int?, priority int?, available_at timestamptz?, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint?, last_error text?, errors jsonb?, idempotency_key text?, created_at timestamptz?, finished_at timestamptz?, payload_omitted boolean?
with walked as materialized (
  select w.id, row_number() over (order by w.id) as n, w.is_match from (
    select j.id,
           (j.status = coalesce(:status::text, j.status) and j.kind = coalesce(:kind::text, j.kind) and j.partition_key = coalesce(:partition_key::text, j.partition_key)
           and (:worker_id::text is null or j.claimed_by = :worker_id or j.errors -> -1 ->> 'worker' = :worker_id) and (:older_ms::float8 is null or j.created_at <= coalesce(:now::timestamptz, now()) - :older_ms * interval '1 ms')
           and (:newer_ms::float8 is null or j.created_at >= coalesce(:now::timestamptz, now()) - :newer_ms * interval '1 ms')
           and (:error::text is null or strpos(lower(j.last_error), lower(:error)) > 0) and (:fingerprint::text is null or leasehold.error_fingerprint(j.last_error) = :fingerprint)
           and (:payload::jsonb is null or j.payload @> :payload::jsonb)) as is_match
    from leasehold.inbox j where j.id >= coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000') and j.id is distinct from :after order by j.id limit :rows::int) w
), found as materialized (
  select w.id, w.n from walked w where w.is_match limit :limit::int
), reach as materialized (
  select r.is_full, case when r.is_full then r.n else (select count(*) from walked) end as looked
  from (select count(*) = :limit as is_full, max(f.n) as n from found f) r
)
select r.looked, not r.is_full and r.looked < :rows as is_end,
       case when r.is_full then (select f.id from found f order by f.n desc limit 1) else (select w.id from walked w order by w.n desc limit 1) end as last_id,
       j.id, j.seq, j.kind, case when j.bytes <= :payload_bytes::int then j.payload end as payload, case when j.bytes <= :payload_bytes then j.headers else '{}' end as headers, j.partition_key, j.partition_bucket, j.status, j.attempts, j.crashes, j.max_attempts, j.priority, j.available_at, j.claimed_by, j.claimed_at,
       j.lease_expires_at as lease_expires_at, j.lease_generation, j.last_error, j.errors, j.idempotency_key, j.created_at, j.finished_at, j.bytes > :payload_bytes as payload_omitted
from reach r left join (found f join leasehold.inbox j on j.id = f.id) on true
order by f.n;

-- name: search_line
-- Locks nothing; the rows in line of one key, the last place first, by inbox_line. For queues with order: key.
-- nullable: before_seq, status, kind, worker_id, error, fingerprint, payload, older_ms, newer_ms, now
-- row: looked bigint, is_end boolean, last_id uuid?, last_rank bigint?
-- row: id uuid?, seq bigint?, kind text?, payload jsonb?, headers jsonb?, partition_key text?, partition_bucket int?, status text?, attempts int?, crashes int?, max_attempts int?, priority int?, available_at timestamptz?, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint?, last_error text?, errors jsonb?, idempotency_key text?, created_at timestamptz?, finished_at timestamptz?, payload_omitted boolean?
with walked as materialized (
  select w.id, w.seq, row_number() over (order by w.seq desc) as n, w.is_match from (
    select j.id, j.seq,
           (j.status = coalesce(:status::text, j.status) and j.kind = coalesce(:kind::text, j.kind)
           and (:worker_id::text is null or j.claimed_by = :worker_id or j.errors -> -1 ->> 'worker' = :worker_id) and (:older_ms::float8 is null or j.created_at <= coalesce(:now::timestamptz, now()) - :older_ms * interval '1 ms')
           and (:newer_ms::float8 is null or j.created_at >= coalesce(:now::timestamptz, now()) - :newer_ms * interval '1 ms')
           and (:error::text is null or strpos(lower(j.last_error), lower(:error)) > 0) and (:fingerprint::text is null or leasehold.error_fingerprint(j.last_error) = :fingerprint)
           and (:payload::jsonb is null or j.payload @> :payload::jsonb)) as is_match
    from leasehold.inbox j
    where j.in_line and j.partition_bucket = :bucket::int and j.partition_key = :partition_key::text and j.seq < coalesce(:before_seq::bigint, 9223372036854775807)
    order by j.seq desc limit :rows::int) w
), found as materialized (
  select w.id, w.seq, w.n from walked w where w.is_match limit :limit::int
), reach as materialized (
  select r.is_full, case when r.is_full then r.n else (select count(*) from walked) end as looked
  from (select count(*) = :limit as is_full, max(f.n) as n from found f) r
)
select r.looked, not r.is_full and r.looked < :rows as is_end,
       case when r.is_full then (select f.id from found f order by f.n desc limit 1) else (select w.id from walked w order by w.n desc limit 1) end as last_id,
       case when r.is_full then (select f.seq from found f order by f.n desc limit 1) else (select w.seq from walked w order by w.n desc limit 1) end as last_rank,
       j.id, j.seq, j.kind, case when j.bytes <= :payload_bytes::int then j.payload end as payload, case when j.bytes <= :payload_bytes then j.headers else '{}' end as headers, j.partition_key, j.partition_bucket, j.status, j.attempts, j.crashes, j.max_attempts, j.priority, j.available_at, j.claimed_by, j.claimed_at,
       j.lease_expires_at as lease_expires_at, j.lease_generation, j.last_error, j.errors, j.idempotency_key, j.created_at, j.finished_at, j.bytes > :payload_bytes as payload_omitted
from reach r left join (found f join leasehold.inbox j on j.id = f.id) on true
order by f.n;

-- name: search_dead_letters
-- Locks nothing; dead letters of the queue that let their key go on, the last to die first, by inbox_finished. Times are microseconds: a Date would lose digits.
-- nullable: before, before_at_us, status, kind, partition_key, worker_id, error, fingerprint, payload, older_ms, newer_ms, now
-- row: looked bigint, is_end boolean, last_id uuid?, last_rank bigint?, now_us bigint
-- row: id uuid?, seq bigint?, kind text?, payload jsonb?, headers jsonb?, partition_key text?, partition_bucket int?, status text?, attempts int?, crashes int?, max_attempts int?, priority int?, available_at timestamptz?, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint?, last_error text?, errors jsonb?, idempotency_key text?, created_at timestamptz?, finished_at timestamptz?, payload_omitted boolean?
with walked as materialized (
  select w.id, w.at_us, row_number() over (order by w.finished_at desc, w.id desc) as n, w.is_match from (
    select j.id, j.finished_at, (extract(epoch from j.finished_at) * 1000000)::bigint as at_us,
           (j.status = coalesce(:status::text, j.status) and j.kind = coalesce(:kind::text, j.kind) and j.partition_key = coalesce(:partition_key::text, j.partition_key)
           and (:worker_id::text is null or j.claimed_by = :worker_id or j.errors -> -1 ->> 'worker' = :worker_id) and (:older_ms::float8 is null or j.created_at <= coalesce(:now::timestamptz, now()) - :older_ms * interval '1 ms')
           and (:newer_ms::float8 is null or j.created_at >= coalesce(:now::timestamptz, now()) - :newer_ms * interval '1 ms')
           and (:error::text is null or strpos(lower(j.last_error), lower(:error)) > 0) and (:fingerprint::text is null or leasehold.error_fingerprint(j.last_error) = :fingerprint)
           and (:payload::jsonb is null or j.payload @> :payload::jsonb)) as is_match
    from leasehold.inbox j where j.finished_at is not null and (j.finished_at, j.id) <
      (coalesce(timestamptz 'epoch' + :before_at_us::bigint * interval '1 microsecond', 'infinity'), coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    order by j.finished_at desc, j.id desc limit :rows::int) w
), found as materialized (
  select w.id, w.at_us, w.n from walked w where w.is_match limit :limit::int
), reach as materialized (
  select r.is_full, case when r.is_full then r.n else (select count(*) from walked) end as looked
  from (select count(*) = :limit as is_full, max(f.n) as n from found f) r
)
select r.looked, not r.is_full and r.looked < :rows as is_end,
       case when r.is_full then (select f.id from found f order by f.n desc limit 1) else (select w.id from walked w order by w.n desc limit 1) end as last_id,
       case when r.is_full then (select f.at_us from found f order by f.n desc limit 1) else (select w.at_us from walked w order by w.n desc limit 1) end as last_rank, (extract(epoch from coalesce(:now::timestamptz, now())) * 1000000)::bigint as now_us,
       j.id, j.seq, j.kind, case when j.bytes <= :payload_bytes::int then j.payload end as payload, case when j.bytes <= :payload_bytes then j.headers else '{}' end as headers, j.partition_key, j.partition_bucket, j.status, j.attempts, j.crashes, j.max_attempts, j.priority, j.available_at, j.claimed_by, j.claimed_at,
       j.lease_expires_at as lease_expires_at, j.lease_generation, j.last_error, j.errors, j.idempotency_key, j.created_at, j.finished_at, j.bytes > :payload_bytes as payload_omitted
from reach r left join (found f join leasehold.inbox j on j.id = f.id) on true
order by f.n;

-- name: search_archived_jobs
-- Locks nothing; rows of the archive, newest first, by inbox_archive_id_idx of each day. `moved_before_us`: what came to the archive later was found in the queue, unless
-- it was moved before the search had come to it: dead letters are moved oldest first and found newest first, so that is what died before the last one that was found there.
-- Several rows may have one id, since plain SQL can use it again; the last that was finished comes first. A row is known by id and finished_at, which also names its day.
-- nullable: before, before_at_us, moved_before_us, died_before_us, died_before_id, status, kind, partition_key, worker_id, error, fingerprint, payload, older_ms, newer_ms, now
-- row: looked bigint, is_end boolean, last_id uuid?, last_at_us bigint?
-- row: id uuid?, seq bigint?, kind text?, payload jsonb?, headers jsonb?, partition_key text?, partition_bucket int?, status text?, attempts int?, crashes int?, max_attempts int?, priority int?, available_at timestamptz?, claimed_by text?, claimed_at timestamptz?, lease_expires_at timestamptz?, lease_generation bigint?, last_error text?, errors jsonb?, idempotency_key text?, created_at timestamptz?, finished_at timestamptz?, payload_omitted boolean?
with walked as materialized (
  select w.id, w.finished_at, row_number() over (order by w.id desc, w.finished_at desc) as n, w.is_match from (
    select j.id, j.finished_at,
           (j.status = coalesce(:status::text, j.status) and j.kind = coalesce(:kind::text, j.kind) and j.partition_key = coalesce(:partition_key::text, j.partition_key)
           and (:worker_id::text is null or j.claimed_by = :worker_id or j.errors -> -1 ->> 'worker' = :worker_id) and (:older_ms::float8 is null or j.created_at <= coalesce(:now::timestamptz, now()) - :older_ms * interval '1 ms')
           and (:newer_ms::float8 is null or j.created_at >= coalesce(:now::timestamptz, now()) - :newer_ms * interval '1 ms')
           and (:error::text is null or strpos(lower(j.last_error), lower(:error)) > 0) and (:fingerprint::text is null or leasehold.error_fingerprint(j.last_error) = :fingerprint)
           and (:payload::jsonb is null or j.payload @> :payload::jsonb)) as is_match
    from leasehold.inbox_archive j where (j.id, j.finished_at) <
      (coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), coalesce(timestamptz 'epoch' + :before_at_us::bigint * interval '1 microsecond', case when :before is null then timestamptz 'infinity' else '-infinity' end))
      and (j.finished_at < coalesce(timestamptz 'epoch' + :moved_before_us::bigint * interval '1 microsecond', 'infinity')
      or ((j.errors -> -1 ->> 'at')::timestamptz, j.id) < (timestamptz 'epoch' + :died_before_us::bigint * interval '1 microsecond', :died_before_id::uuid))
    order by j.id desc, j.finished_at desc limit :rows::int) w
), found as materialized (
  select w.id, w.finished_at, w.n from walked w where w.is_match limit :limit::int
), reach as materialized (
  select r.is_full, case when r.is_full then r.n else (select count(*) from walked) end as looked
  from (select count(*) = :limit as is_full, max(f.n) as n from found f) r
)
select r.looked, not r.is_full and r.looked < :rows as is_end,
       case when r.is_full then (select f.id from found f order by f.n desc limit 1) else (select w.id from walked w order by w.n desc limit 1) end as last_id,
       (extract(epoch from case when r.is_full then (select f.finished_at from found f order by f.n desc limit 1) else (select w.finished_at from walked w order by w.n desc limit 1) end) * 1000000)::bigint as last_at_us,
       j.id, j.seq, j.kind, case when not o.is_large then j.payload end as payload, case when not o.is_large then j.headers else '{}' end as headers, j.partition_key, j.partition_bucket, j.status, j.attempts, j.crashes, j.max_attempts, j.priority, j.available_at, j.claimed_by, j.claimed_at,
       null::timestamptz as lease_expires_at, j.lease_generation, j.last_error, j.errors, j.idempotency_key, j.created_at, j.finished_at, o.is_large as payload_omitted
from reach r left join (found f cross join lateral (
  select a.* from leasehold.inbox_archive a where a.id = f.id and a.finished_at = f.finished_at limit 1) j cross join lateral (
  select case when pg_column_size(j.payload) > 2::bigint * :payload_bytes::int then true
              else octet_length(j.payload::text) + octet_length(j.headers::text) > :payload_bytes end as is_large offset 0) o) on true
order by f.n;
