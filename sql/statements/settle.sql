-- Settle and renew: what a worker may do with rows it holds. Every statement matches id, claimed_by and lease_generation of a
-- processing row and touches nothing else, so a worker whose lease was taken over changes 0 rows.

-- name: settle_jobs
-- Locks: job rows in the order of their ids (the sort runs below the lock), by inbox_pkey; then writes only those.
-- A completed row leaves for the archive in the same statement, or is only deleted when the queue keeps none. A retry of the last
-- attempt is a dead letter; attempts that ended in a crash have a budget of their own (0003). A release takes the attempt back. With order: key, when a row goes back or is parked, the rows
-- of its run behind it are released with it, whoever holds them in hand: they must not be settled before it. By inbox_line.
-- nullable: now
-- row: id uuid, token bigint, held boolean, status text?
with wanted as materialized (
  select w.id, w.token, w.outcome, w.error, w.stack, w.delay_ms
  from jsonb_to_recordset(:outcomes::jsonb) as w(id uuid, token bigint, outcome text, error text, stack text, delay_ms float8)
), queue as materialized (
  select q."order", q.on_dead_letter, q.retention > interval '0' as archives, coalesce(:now::timestamptz, clock_timestamp()) as now
  from leasehold.queues q where q.name = 'inbox'
), touched as materialized (
  select w.id, w.token, w.outcome, w.error, w.stack, w.delay_ms from wanted w
  union all
  select r.id, w.token, 'release', null, null, null
  from wanted w cross join queue q join leasehold.inbox f on f.id = w.id and f.lease_generation = w.token
    and f.claimed_by = :worker_id::text and f.status = 'processing' cross join lateral (
    select j.id from leasehold.inbox j
    where q."order" = 'key' and j.in_line and j.partition_bucket = f.partition_bucket and j.partition_key = f.partition_key
      and j.seq > f.seq and j.lease_generation = w.token and j.claimed_by = :worker_id::text and j.status = 'processing'
    order by j.seq limit 5000) r
  where w.outcome <> 'complete' and (w.outcome = 'release' or q.on_dead_letter = 'park'
         or (w.outcome = 'retry' and f.attempts - f.crashes < f.max_attempts))
    and not exists (select 1 from wanted o where o.id = r.id)
), held as materialized (
  select j.id, w.token, w.outcome, w.error, w.stack, d.dies, d.wait,
         case when w.outcome = 'complete' then 'completed' when d.dies then 'dead_letter'
              when w.outcome = 'retry' and q."order" = 'none' and d.wait > interval '0' then 'scheduled' else 'pending' end as status
  from leasehold.inbox j join (select distinct on (t.id, t.token) t.* from touched t order by t.id, t.token, t.outcome) w
    on w.id = j.id cross join queue q cross join lateral (
    select w.outcome = 'dead_letter' or (w.outcome = 'retry' and j.attempts - j.crashes >= j.max_attempts) as dies,
           coalesce(w.delay_ms * interval '1 ms', leasehold.backoff(j.attempts, j.id)) as wait) d
  where j.status = 'processing' and j.claimed_by = :worker_id::text and j.lease_generation = w.token
  order by j.id
  for update of j
), completed as (
  delete from leasehold.inbox j using held h where j.id = h.id and h.outcome = 'complete'
  returning j.*
), archived as (
  insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, claimed_at, finished_at, attempts,
    crashes, max_attempts, priority, partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error,
    headers, errors, payload)
  select c.id, c.seq, c.lease_generation, c.available_at, c.created_at, c.claimed_at, q.now, c.attempts,
    c.crashes, c.max_attempts, c.priority, c.partition_bucket, 'completed', c.kind, c.partition_key, c.claimed_by,
    c.idempotency_key, c.last_error, c.headers, c.errors, c.payload
  from completed c, queue q where q.archives
), given_back as (
  update leasehold.inbox j set
    status = h.status,
    finished_at = case when h.dies and q.on_dead_letter = 'continue' then q.now end,
    available_at = case when h.outcome = 'retry' and not h.dies then q.now + h.wait else j.available_at end,
    attempts = case when h.outcome = 'release' then j.attempts - 1 else j.attempts end,
    claimed_by = null, claimed_at = null, lease_expires_at = null,
    last_error = coalesce(h.error, j.last_error),
    errors = case when h.outcome = 'release' then j.errors else leasehold.with_error(j.errors, jsonb_build_object('at', q.now,
      'attempt', j.attempts, 'worker', j.claimed_by, 'token', j.lease_generation::text, 'message', h.error)
      || case when h.stack is null then '{}'::jsonb else jsonb_build_object('stack', h.stack) end) end
  from held h, queue q
  where j.id = h.id and h.outcome <> 'complete'
)
select w.id, w.token, h.id is not null as held, h.status
from wanted w left join held h on h.id = w.id and h.token = w.token
order by w.id, w.token;

-- name: complete_jobs
-- Locks: job rows in the order of their ids, by inbox_pkey (migration 0011). Answers with what was not held.
-- nullable: now
-- row: id uuid, token bigint
select id, token from leasehold.inbox_complete(:worker_id::text, :ids::text::uuid[], :tokens::text::bigint[], :now::timestamptz);

-- name: find_settled
-- Locks nothing. Which of these outcomes were written by an earlier try whose answer was lost: a completed row is in the archive under its
-- token (without an archive a row that is gone counts); a retry or dead letter left its entry in the history; a release left the token.
-- By inbox_pkey and inbox_archive_id_idx.
-- row: id uuid, token bigint
select w.id, w.token
from jsonb_to_recordset(:outcomes::jsonb) as w(id uuid, token bigint, outcome text)
left join leasehold.inbox j on j.id = w.id
where case w.outcome
  when 'complete' then j.id is null and (
    exists (select 1 from leasehold.inbox_archive a where a.id = w.id and a.lease_generation = w.token and a.claimed_by = :worker_id::text)
    or exists (select 1 from leasehold.queues q where q.name = 'inbox' and q.retention = interval '0'))
  when 'release' then j.status <> 'processing' and j.lease_generation = w.token
  else exists (select 1 from jsonb_array_elements(j.errors) e
               where e ->> 'token' = w.token::text and e ->> 'worker' = :worker_id::text and not e ? 'lost') end
order by w.id, w.token;

-- name: renew_jobs
-- Locks: job rows in the order of their ids with skip locked, by inbox_pkey. A row that somebody is just settling is not lost
-- ('busy'); a row that no longer carries this worker and token is ('lost').
-- nullable: now
-- row: id uuid, token bigint, state text, lease_expires_at timestamptz?
with wanted as materialized (
  select w.id, w.token from jsonb_to_recordset(:jobs::jsonb) as w(id uuid, token bigint)
), held as materialized (
  select j.id, w.token from leasehold.inbox j join wanted w on w.id = j.id
  where j.status = 'processing' and j.claimed_by = :worker_id::text and j.lease_generation = w.token
), locked as materialized (
  select j.id from leasehold.inbox j join wanted w on w.id = j.id
  where j.status = 'processing' and j.claimed_by = :worker_id::text and j.lease_generation = w.token
  order by j.id
  for update of j skip locked
), renewed as (
  update leasehold.inbox j
  set lease_expires_at = coalesce(:now::timestamptz, clock_timestamp()) + :lease_ms::bigint * interval '1 ms'
  from locked l where j.id = l.id
  returning j.id, j.lease_expires_at
)
select w.id, w.token, case when r.id is not null then 'renewed' when h.id is not null then 'busy' else 'lost' end as state,
       r.lease_expires_at
from wanted w left join held h on h.id = w.id and h.token = w.token left join renewed r on r.id = h.id
order by w.id, w.token;
