--! scope: queue
--
-- What a person does to many rows: redrive and discard. The library picks the ids first, from a set that was fixed when the call began, and hands
-- them over in batches; each function below changes one batch and answers with the number of rows that it changed.
--
-- Both lock the rows in a statement of their own and change them in the next one. That one begins with the locks held, so it sees the versions that it
-- writes and is never evaluated again on a version that somebody else has just committed: a place would be drawn twice.
--
-- Between the pick and the lock another operator or a worker may have changed a row. So the statuses that the caller meant (p_statuses) are tested on the
-- locked version. Kind and key of a row never change.
--
-- A batch may be sent again after a commit whose answer was lost. It leaves a receipt with its number, so that the second call changes nothing and answers as
-- the first did: a job that has failed once more meanwhile is not redriven once more.
--
-- Locks: the call's own receipt; in strict queues, for a redrive, the slots of the keys in ascending order; then job rows by id. No bucket lock is needed: to a claim a redriven row is
-- one that commits late, which it can deal with.

drop function if exists leasehold.inbox_redrive(uuid[], timestamptz);
drop function if exists leasehold.inbox_redrive(uuid[], uuid, timestamptz);
drop function if exists leasehold.inbox_discard(uuid[], text, uuid, timestamptz);

-- A person gives rows another round. A dead letter that left its line gets a new place at its end; several keep their relative order. A parked one is still at
-- the front and keeps its place. A row that waits for its time gets a place at the end, one that waits for its backoff in line keeps its own; both become due now. Attempts and crashes start again from 0 for dead letters. Workers that wait
-- for these buckets are woken. p_detail goes to the history: which filter the person gave.
create or replace function leasehold.inbox_redrive(p_ids uuid[], p_statuses text[], p_receipt uuid, p_detail jsonb, p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_held uuid[];
  v_changed int := leasehold.inbox_receipt(p_receipt, v_now);
begin
  if v_changed is not null then return v_changed; end if;
  if (select q.is_strict from leasehold.queues q where q.name = 'inbox') then
    perform leasehold.inbox_lock_slots(array(
      select j.partition_key from leasehold.inbox j where j.id = any(p_ids)
      union select a.partition_key from leasehold.inbox_archive a where a.id = any(p_ids) and a.status = 'dead_letter'));
  end if;
  if 'dead_letter' = any(p_statuses) then perform leasehold.inbox_restore(p_ids); end if;
  v_held := array(
    select j.id from leasehold.inbox j
    where j.id = any(p_ids) and j.status = any(p_statuses)
      and (j.status = 'dead_letter' or (j.status in ('pending', 'scheduled') and j.available_at > v_now))
    order by j.id for update);
  update leasehold.receipts r set changed = cardinality(v_held) where r.id = p_receipt;
  with placed as materialized (
    select o.id, nextval('leasehold.inbox_seq') as seq from (
      select h.id from leasehold.inbox h where h.id = any(v_held) and not h.in_line order by h.seq) o
  )
  update leasehold.inbox j set
    status = 'pending',
    seq = coalesce((select p.seq from placed p where p.id = j.id), j.seq),
    finished_at = null, available_at = v_now, redriven_at = v_now,
    attempts = case when j.status = 'dead_letter' then 0 else j.attempts end,
    crashes = case when j.status = 'dead_letter' then 0 else j.crashes end
  where j.id = any(v_held);
  if cardinality(v_held) > 0 then perform leasehold.note_history('jobs:redriven', 'inbox', null, cardinality(v_held), p_detail, v_now); end if;
  perform leasehold.wake_workers('inbox', array(select distinct j.partition_bucket from leasehold.inbox j where j.id = any(v_held)));
  return cardinality(v_held);
end
$$;

-- For libraries that give no detail.
create or replace function leasehold.inbox_redrive(p_ids uuid[], p_statuses text[], p_receipt uuid, p_now timestamptz default null) returns int
language sql set search_path = pg_catalog, pg_temp as $$
  select leasehold.inbox_redrive(p_ids, p_statuses, p_receipt, null, p_now)
$$;

-- Dead letters come back from the archive as what they were in the queue, except for those whose id a newer job of the queue has: a job inserted by plain SQL may have the id of one that has left.
-- Of several archived ones of an id the newest comes back. Runs as its owner: nobody else may delete from the archive. Locks the archived rows by id.
create or replace function leasehold.inbox_restore(p_ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_held uuid[] := array(
    select a.id from leasehold.inbox_archive a where a.id = any(p_ids) and a.status = 'dead_letter' order by a.id for update);
begin
  if cardinality(v_held) = 0 then return; end if;
  with back as (
    insert into leasehold.inbox (id, seq, lease_generation, available_at, created_at, finished_at, attempts, crashes, max_attempts, priority, status, kind,
      partition_key, idempotency_key, last_error, headers, errors, payload, bytes)
    select distinct on (a.id) a.id, a.seq, a.lease_generation, a.available_at, a.created_at, a.finished_at, a.attempts, a.crashes, a.max_attempts, a.priority, 'dead_letter', a.kind,
      a.partition_key, a.idempotency_key, a.last_error, a.headers, a.errors, a.payload, leasehold.text_bytes(a.payload, a.headers)
    from leasehold.inbox_archive a where a.id = any(v_held) and a.status = 'dead_letter'
    order by a.id, a.finished_at desc
    on conflict (id) do nothing returning id, finished_at
  )
  delete from leasehold.inbox_archive a using back b where a.id = b.id and a.finished_at = b.finished_at and a.status = 'dead_letter';
end
$$;

-- Takes rows out of the queue for good; they stay readable in the archive, where the queue keeps one. Rows in process are left alone: their worker holds them.
-- Workers that wait for the buckets of rows that were in line are woken: what stood behind may run now.
create or replace function leasehold.inbox_discard(p_ids uuid[], p_statuses text[], p_reason text, p_receipt uuid, p_detail jsonb, p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), clock_timestamp());
  v_held uuid[];
  v_freed int[];
  v_changed int := leasehold.inbox_receipt(p_receipt, v_now);
begin
  if v_changed is not null then return v_changed; end if;
  v_held := array(
    select j.id from leasehold.inbox j where j.id = any(p_ids) and j.status = any(p_statuses) and j.status <> 'processing' order by j.id for update);
  v_freed := array(
    select distinct j.partition_bucket from leasehold.inbox j join leasehold.queues q on q.name = 'inbox' and q."order" = 'key'
    where j.id = any(v_held) and j.in_line);
  update leasehold.receipts r set changed = cardinality(v_held) where r.id = p_receipt;
  with gone as (
    delete from leasehold.inbox j where j.id = any(v_held) returning j.*
  )
  insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, claimed_at, finished_at, attempts,
    crashes, max_attempts, priority, partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error,
    headers, errors, payload)
  select g.id, g.seq, g.lease_generation, g.available_at, g.created_at, g.claimed_at, v_now,
    g.attempts, g.crashes, g.max_attempts, g.priority, g.partition_bucket, 'discarded', g.kind, g.partition_key, g.claimed_by,
    g.idempotency_key, coalesce(p_reason, g.last_error), g.headers, g.errors, g.payload
  from gone g join leasehold.queues q on q.name = 'inbox' and q.retention > interval '0';
  if cardinality(v_held) > 0 then
    perform leasehold.note_history('jobs:discarded', 'inbox', null, cardinality(v_held), p_detail, v_now);
  end if;
  perform leasehold.wake_workers('inbox', v_freed);
  return cardinality(v_held);
end
$$;

-- For libraries that give no detail.
create or replace function leasehold.inbox_discard(p_ids uuid[], p_statuses text[], p_reason text, p_receipt uuid, p_now timestamptz default null) returns int
language sql set search_path = pg_catalog, pg_temp as $$
  select leasehold.inbox_discard(p_ids, p_statuses, p_reason, p_receipt, jsonb_strip_nulls(jsonb_build_object('reason', p_reason)), p_now)
$$;

-- Leaves the receipt of a call and answers null; or, when an earlier try of the same call has committed, the number of rows that it changed. Waits for one
-- that is still under way.
create or replace function leasehold.inbox_receipt(p_receipt uuid, p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into leasehold.receipts (id, expires_at, changed) values (p_receipt, p_now + interval '1 day', 0) on conflict (id) do nothing;
  if found then return null; end if;
  return (select r.changed from leasehold.receipts r where r.id = p_receipt);
end
$$;
