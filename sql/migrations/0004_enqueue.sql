--! scope: queue
--
-- Enqueue. One text parameter holding JSON is the only form that every driver and ORM passes through unharmed:
--   { "jobs": [ { "id", "kind", "payload", "headers", "partition_key", "priority", "max_attempts", "available_at",
--                 "delay_ms", "idempotency_key", "earlier" } ],
--     "once": boolean, "resend": boolean, "quiet": boolean, "wake": boolean, "receipt": uuid, "lock_timeout_ms": int, "now": timestamptz }
-- Only kind is required. A job without `max_attempts` gets those of its kind's policy, or of the queue. `now` is for tests, and for the owner of the schema alone. `once` says that the call has idempotency keys; `resend` that its jobs may be in the database already. Answers
-- one row per job, in the order given: its id, or the id of the job that already answers for its idempotency key. A caller who made all
-- ids and has no idempotency keys knows the answer; with `quiet` he gets none.
--
-- A job that is sent again may have committed, run and finished meanwhile. Where there is an archive its id is looked for there, in a
-- snapshot taken after the insert: an id that could be inserted either never was, or was deleted by a commit that this snapshot sees. Where
-- there is none, each call leaves a receipt, and a job names the receipts of its earlier sends.
--
-- A worker that asked to be woken for a bucket of these rows is told (0010), also for rows that fall due within a few seconds. A transaction that is to be prepared (PREPARE TRANSACTION) must not
-- notify: `"wake": false`, or `set local leasehold.wake = off`, leaves the rows to the next poll.
--
-- Every way in makes sure that its transaction has its id before it draws `seq`: a claim can then tell by ids which transactions may still bring a lower place. The draw is evaluated above the
-- sort, so places follow the order of the jobs.
--
-- Runs as its owner, so that a producer needs no right on the table and can read nothing of it.
-- Locks: in strict queues advisory slots in ascending order; then dedupe rows in the order of their keys; then it inserts.

create or replace function leasehold.inbox_enqueue(p_request text)
returns table (n int, id uuid, duplicate boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_request jsonb := p_request::jsonb;
  v_jobs jsonb := v_request -> 'jobs';
  v_now timestamptz := coalesce(leasehold.allowed_now((v_request ->> 'now')::timestamptz), clock_timestamp());
  v_once boolean := coalesce((v_request ->> 'once')::boolean,
    exists (select 1 from jsonb_array_elements(v_jobs) j where j ? 'idempotency_key'));
  v_resend boolean := coalesce((v_request ->> 'resend')::boolean, false);
  v_wakes boolean := coalesce((v_request ->> 'wake')::boolean, true);
  v_queue leasehold.queues;
  v_own uuid;  -- the receipt of this call, when no earlier send of it has committed
begin
  perform pg_current_xact_id();
  select q.* into strict v_queue from leasehold.queues q where q.name = 'inbox';
  if v_request ? 'lock_timeout_ms' then
    perform set_config('lock_timeout', v_request ->> 'lock_timeout_ms', true);
  end if;
  if v_queue.is_strict then
    perform leasehold.inbox_lock_slots(array(
      select j ->> 'partition_key' from jsonb_array_elements(v_jobs) j where j ->> 'partition_key' is not null));
  end if;
  if v_queue.retention = interval '0' and v_request ? 'receipt' then
    -- Waits for an earlier send of the same call that is still under way.
    insert into leasehold.receipts (id, expires_at)
    values ((v_request ->> 'receipt')::uuid, v_now + interval '1 day') on conflict do nothing;
    if found then v_own := (v_request ->> 'receipt')::uuid; end if;
  end if;
  if v_once or v_resend then
    return query select * from leasehold.inbox_insert_once(v_jobs, v_now, v_now + v_queue.dedupe_window, v_own, v_resend);
    if v_resend then
      delete from leasehold.inbox i using jsonb_to_recordset(v_jobs) as j(id uuid)
      where i.id = j.id and exists (select 1 from leasehold.inbox_archive a where a.id = j.id);
    end if;
    if v_wakes and exists (select 1 from leasehold.workers w where w.wake_wish ? 'inbox' and w.status = 'alive') then perform leasehold.inbox_wake(v_jobs, v_now); end if;
    return;
  end if;
  if (v_request ->> 'quiet')::boolean then
    insert into leasehold.inbox (id, kind, payload, headers, partition_key, priority, max_attempts, available_at, status,
                                 created_at, bytes, seq)
    select g.id, g.kind, coalesce(g.payload, 'null'), coalesce(g.headers, '{}'), coalesce(g.partition_key, g.id::text),
           coalesce(g.priority, 0), coalesce(g.max_attempts, (v_queue.kinds -> g.kind ->> 'maxAttempts')::int, v_queue.max_attempts), d.available_at,
           case when d.available_at > v_now then 'scheduled' else 'pending' end, v_now, leasehold.text_bytes(g.payload, g.headers),
           nextval('leasehold.inbox_seq')
    from rows from (jsonb_to_recordset(v_jobs) as (id uuid, kind text, payload jsonb, headers jsonb, partition_key text,
           priority int, max_attempts int, available_at timestamptz, delay_ms float8)) with ordinality
           as g(id, kind, payload, headers, partition_key, priority, max_attempts, available_at, delay_ms, n)
    cross join lateral (select coalesce(g.available_at, v_now + g.delay_ms * interval '1 ms', v_now) as available_at) d
    order by g.n;
    if v_wakes and exists (select 1 from leasehold.workers w where w.wake_wish ? 'inbox' and w.status = 'alive') then perform leasehold.inbox_wake(v_jobs, v_now); end if;
    return;
  end if;
  return query
    with given as materialized (
      select j.n, coalesce(j.id, leasehold.uuid_v7()) as id, j.kind, j.payload, j.headers, j.partition_key, j.priority,
             j.max_attempts, coalesce(j.available_at, v_now + j.delay_ms * interval '1 ms', v_now) as available_at
      from rows from (jsonb_to_recordset(v_jobs) as (id uuid, kind text, payload jsonb, headers jsonb, partition_key text,
             priority int, max_attempts int, available_at timestamptz, delay_ms float8)) with ordinality
             as j(id, kind, payload, headers, partition_key, priority, max_attempts, available_at, delay_ms, n)
    ), written as (
      insert into leasehold.inbox (id, kind, payload, headers, partition_key, priority, max_attempts, available_at, status,
                                   created_at, bytes, seq)
      select g.id, g.kind, coalesce(g.payload, 'null'), coalesce(g.headers, '{}'), coalesce(g.partition_key, g.id::text),
             coalesce(g.priority, 0), coalesce(g.max_attempts, (v_queue.kinds -> g.kind ->> 'maxAttempts')::int, v_queue.max_attempts), g.available_at,
             case when g.available_at > v_now then 'scheduled' else 'pending' end, v_now, leasehold.text_bytes(g.payload, g.headers),
             nextval('leasehold.inbox_seq')
      from given g order by g.n
    )
    select g.n::int, g.id, false from given g order by g.n;
  if v_wakes and exists (select 1 from leasehold.workers w where w.wake_wish ? 'inbox' and w.status = 'alive') then perform leasehold.inbox_wake(v_jobs, v_now); end if;
end
$$;

-- Wakes those who wait for one of these jobs. The caller has seen that there is somebody: one look at a small table is all that it costs while nobody waits. A job without an id and a key may be
-- in any bucket. A job that falls due after another one that is waiting in its bucket wakes nobody: whoever was told of that one, or found it, looks when it falls due.
-- One job that is due now, which is what most calls bring, needs none of that.
create or replace function leasehold.inbox_wake(p_jobs jsonb, p_now timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_job jsonb := p_jobs -> 0;
  v_key text := coalesce(v_job ->> 'partition_key', v_job ->> 'id');
begin
  if current_setting('leasehold.wake', true) in ('off', 'false') then return; end if;
  if jsonb_array_length(p_jobs) = 1 and v_key is not null and not v_job ?| array['available_at', 'delay_ms'] then
    perform leasehold.wake_workers('inbox', array[leasehold.bucket_of(v_key, 360 /* buckets */)]);
    return;
  end if;
  perform leasehold.wake_workers('inbox', array(
    select distinct a.bucket
    from jsonb_to_recordset(p_jobs) as j(id uuid, partition_key text, available_at timestamptz, delay_ms float8)
    cross join lateral (select coalesce(j.available_at, p_now + j.delay_ms * interval '1 ms', p_now) as at, coalesce(j.partition_key, j.id::text) as key) d
    cross join lateral (
      select leasehold.bucket_of(d.key, 360 /* buckets */) as bucket where d.key is not null
      union all select generate_series(0, 360 /* buckets */ - 1) where d.key is null) a
    where d.at <= p_now + interval '5 seconds' and not (d.at > p_now and exists (
      select 1 from leasehold.inbox s where not s.in_line and s.finished_at is null and s.partition_bucket = a.bucket
        and s.available_at > p_now and s.available_at < d.at))));
end
$$;

-- The slow form: rows with idempotency keys, and rows that are sent again after a commit whose answer was lost.
-- Of several rows with one key the first counts. `on conflict do update` waits for an open transaction that holds the key; when that commits, its job answers, and the row is
-- locked and left as it is. A key whose window has passed is taken over only when its job has left the queue. The insert comes in a statement of its own, which
-- sees the jobs that answer.
-- A job whose key is answered by its own id was stored before: a duplicate, or in a call that is sent again this call's own.
drop function if exists leasehold.inbox_insert_once(jsonb, timestamptz, timestamptz, uuid);
create or replace function leasehold.inbox_insert_once(p_jobs jsonb, p_now timestamptz, p_expires_at timestamptz, p_own uuid, p_resend boolean)
returns table (n int, id uuid, duplicate boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_queue leasehold.queues;
  v_won text[];  -- keys that one of these jobs answers for from now on
begin
  select q.* into strict v_queue from leasehold.queues q where q.name = 'inbox';
  if exists (select 1 from jsonb_array_elements(p_jobs) j where j ->> 'id' is null) then
    p_jobs := (select jsonb_agg(case when e.j ->> 'id' is null then e.j || jsonb_build_object('id', leasehold.uuid_v7()) else e.j end order by e.n)
               from jsonb_array_elements(p_jobs) with ordinality e(j, n));
  end if;
  with firsts as (
    select distinct on (g.idempotency_key collate "C") g.idempotency_key, g.id
    from rows from (jsonb_to_recordset(p_jobs) as (id uuid, idempotency_key text)) with ordinality as g(id, idempotency_key, n)
    where g.idempotency_key is not null order by g.idempotency_key collate "C", g.n
  ), won as (
    insert into leasehold.dedupe as d (queue, idempotency_key, job_id, expires_at)
    select 'inbox', f.idempotency_key, f.id, p_expires_at from firsts f order by f.idempotency_key collate "C"
    on conflict (queue, idempotency_key) do update set job_id = excluded.job_id, expires_at = excluded.expires_at
      where d.expires_at <= p_now and not exists (select 1 from leasehold.inbox i where i.id = d.job_id)
    returning d.idempotency_key
  )
  select array_agg(w.idempotency_key) into v_won from won w;
  return query
    with decided as materialized (
      select g.*, (select d.job_id from leasehold.dedupe d where d.queue = 'inbox' and d.idempotency_key = g.idempotency_key) as job_id, w.key is not null as is_won
      from rows from (jsonb_to_recordset(p_jobs) as (id uuid, kind text, payload jsonb, headers jsonb, partition_key text,
             priority int, max_attempts int, available_at timestamptz, delay_ms float8, idempotency_key text, earlier uuid[]))
             with ordinality as g(id, kind, payload, headers, partition_key, priority, max_attempts, available_at, delay_ms,
             idempotency_key, earlier, n)
      left join unnest(v_won) w(key) on w.key = g.idempotency_key
    ), written as (
      insert into leasehold.inbox (id, kind, payload, headers, partition_key, priority, max_attempts, available_at, status,
                                   created_at, idempotency_key, bytes, seq)
      select g.id, g.kind, coalesce(g.payload, 'null'), coalesce(g.headers, '{}'), coalesce(g.partition_key, g.id::text),
             coalesce(g.priority, 0), coalesce(g.max_attempts, (v_queue.kinds -> g.kind ->> 'maxAttempts')::int, v_queue.max_attempts), a.available_at,
             case when a.available_at > p_now then 'scheduled' else 'pending' end, p_now, g.idempotency_key,
             leasehold.text_bytes(g.payload, g.headers),
             nextval('leasehold.inbox_seq')
      from decided g cross join lateral (select coalesce(g.available_at, p_now + g.delay_ms * interval '1 ms', p_now) as available_at) a
      where (g.idempotency_key is null or (g.is_won and g.job_id = g.id))
        and not exists (select 1 from leasehold.receipts r where r.id = any(g.earlier) and r.id is distinct from p_own)
      order by g.n
      on conflict on constraint inbox_pkey do nothing
    )
    select g.n::int, coalesce(g.job_id, g.id), g.idempotency_key is not null and (g.job_id <> g.id or not (g.is_won or p_resend)) from decided g order by g.n;
end
$$;

-- A plain `insert into leasehold.inbox`, by hand or by an ORM, works as enqueue does: kind, key, payload and attempts have defaults, a row for later is scheduled, a row whose idempotency key is answered already
-- is left out without an error, and workers are woken. Rows that bring their place come from enqueue, which pays for a test of null and nothing else.
-- A row with attempts keeps its state: a retry waits as `pending`.
-- Locks: as enqueue, but row by row, so that two statements which bring the same keys in opposite orders can deadlock.
create or replace function leasehold.inbox_insert_row() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_queue leasehold.queues;
begin
  perform pg_current_xact_id();
  select q.* into strict v_queue from leasehold.queues q where q.name = 'inbox';
  new.id := coalesce(new.id, leasehold.uuid_v7());
  new.kind := coalesce(new.kind, 'job');
  new.payload := coalesce(new.payload, 'null');
  new.partition_key := coalesce(new.partition_key, new.id::text);
  new.max_attempts := coalesce(new.max_attempts, (v_queue.kinds -> new.kind ->> 'maxAttempts')::int, v_queue.max_attempts);
  if new.status = 'pending' and new.attempts = 0 and new.available_at > v_now then new.status := 'scheduled'; end if;
  if v_queue.is_strict then perform leasehold.inbox_lock_slots(array[new.partition_key]); end if;
  if new.idempotency_key is not null
     and leasehold.inbox_answering(new.idempotency_key, new.id, v_now, v_now + v_queue.dedupe_window) is null then
    return null;
  end if;
  new.bytes := leasehold.text_bytes(new.payload, new.headers);
  new.seq := nextval('leasehold.inbox_seq');
  if exists (select 1 from leasehold.workers w where w.wake_wish ? 'inbox' and w.status = 'alive') then
    perform leasehold.inbox_wake(jsonb_build_array(jsonb_build_object('id', new.id, 'partition_key', new.partition_key)
      || case when new.status = 'scheduled' then jsonb_build_object('available_at', new.available_at) else '{}' end), v_now);
  end if;
  return new;
end
$$;

-- Makes a job answer for an idempotency key; null when one answers for it already, also one of the same id. The same rule as in inbox_insert_once.
create or replace function leasehold.inbox_answering(p_key text, p_id uuid, p_now timestamptz, p_expires_at timestamptz) returns uuid
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into leasehold.dedupe as d (queue, idempotency_key, job_id, expires_at) values ('inbox', p_key, p_id, p_expires_at)
  on conflict (queue, idempotency_key) do update set job_id = excluded.job_id, expires_at = excluded.expires_at
    where d.expires_at <= p_now and not exists (select 1 from leasehold.inbox i where i.id = d.job_id)
  returning d.job_id
$$;

alter table leasehold.inbox alter column seq drop default, alter column max_attempts drop default;
create or replace trigger inbox_plain before insert on leasehold.inbox
  for each row when (new.seq is null) execute function leasehold.inbox_insert_row();
