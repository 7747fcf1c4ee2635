--! scope: queue
--
-- The settle of rows that are done, which is what happens to nearly all of them. Deletes the rows that this worker holds under these tokens, and
-- writes them to the archive where the queue keeps one. Answers only with what it did not hold.
--
-- Rows of one claim share a token, so p_tokens holds either one token for all ids, or one for each. One token is the cheaper form: 3.8 us a row
-- against 5.3, measured in batches of 500.
--
-- Whoever keeps no archive need not even be told which rows went: their number says whether all of them did. When it does not, the delete is
-- taken back and done again in the form that knows.
--
-- Locks: job rows in the order of their ids, one after another as they are deleted: by a scan of inbox_pkey that has sorted its keys, or by a nested loop over
-- sorted ids; the settings forbid every other join. A row that somebody has locked is waited for and tested again on its new version.

create or replace function leasehold.inbox_complete(p_worker text, p_ids uuid[], p_tokens bigint[], p_now timestamptz)
returns table (id uuid, token bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  v_count int;
begin
  if (select q.retention = interval '0' from leasehold.queues q where q.name = 'inbox') then
    if cardinality(p_ids) = 1 then -- all or nothing: there is nothing to take back
      delete from leasehold.inbox j
      where j.id = p_ids[1] and j.lease_generation = p_tokens[1] and j.status = 'processing' and j.claimed_by = p_worker;
      if not found then id := p_ids[1]; token := p_tokens[1]; return next; end if;
      return;
    end if;
    begin
      if cardinality(p_tokens) = 1 then
        delete from leasehold.inbox j
        where j.id = any(p_ids) and j.lease_generation = p_tokens[1] and j.status = 'processing' and j.claimed_by = p_worker;
      else
        delete from leasehold.inbox j using (select u.id, u.token from unnest(p_ids, p_tokens) u(id, token) order by u.id, u.token) w
        where j.id = w.id and j.lease_generation = w.token and j.status = 'processing' and j.claimed_by = p_worker;
      end if;
      get diagnostics v_count = row_count;
      if v_count = cardinality(p_ids) then return; end if;
      raise exception using errcode = 'LH001';
    exception when sqlstate 'LH001' then
      null; -- Some were not held. Which ones, is found below.
    end;
  end if;
  return query select * from leasehold.inbox_complete_each(p_worker, p_ids, p_tokens, coalesce(p_now, clock_timestamp()));
end
$$;

create or replace function leasehold.inbox_complete_each(p_worker text, p_ids uuid[], p_tokens bigint[], p_now timestamptz)
returns table (id uuid, token bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  v_tokens bigint[] := case when cardinality(p_tokens) = 1 then array_fill(p_tokens[1], array[cardinality(p_ids)]) else p_tokens end;
  v_done uuid[];
begin
  with gone as (
    delete from leasehold.inbox j using (select u.id, u.token from unnest(p_ids, v_tokens) u(id, token) order by u.id, u.token) w
    where j.id = w.id and j.lease_generation = w.token and j.status = 'processing' and j.claimed_by = p_worker
    returning j.*
  ), kept as (
    insert into leasehold.inbox_archive (id, seq, lease_generation, available_at, created_at, claimed_at, finished_at, attempts,
      crashes, max_attempts, priority, partition_bucket, status, kind, partition_key, claimed_by, idempotency_key, last_error,
      headers, errors, payload)
    select g.id, g.seq, g.lease_generation, g.available_at, g.created_at, g.claimed_at, p_now, g.attempts,
      g.crashes, g.max_attempts, g.priority, g.partition_bucket, 'completed', g.kind, g.partition_key, g.claimed_by,
      g.idempotency_key, g.last_error, g.headers, g.errors, g.payload
    from gone g, leasehold.queues q where q.name = 'inbox' and q.retention > interval '0'
  )
  select array_agg(g.id) into v_done from gone g;
  if coalesce(cardinality(v_done), 0) < cardinality(p_ids) then
    return query select u.id, u.token from unnest(p_ids, v_tokens) u(id, token)
      where u.id <> all(coalesce(v_done, '{}')) order by u.id, u.token;
  end if;
end
$$;

revoke all on all functions in schema leasehold from public;
