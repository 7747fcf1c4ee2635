-- Least-privilege roles, one for each way of using Leasehold. None of them can log in by itself: grant them to your own.
--   leasehold_producer   enqueue, and nothing else: it can't read a payload, not even its own
--   leasehold_worker     claim, settle, renew, housekeep; no DDL besides making and dropping archive days through functions
--   leasehold_viewer     read everything
--   leasehold_operator   what a viewer may, and retry, discard, pause, resume, evict
-- Run by whoever owns the schema and may create roles. May be run again at any time.

do $$
declare
  v_role text;
begin
  foreach v_role in array array['leasehold_producer', 'leasehold_worker', 'leasehold_viewer', 'leasehold_operator'] loop
    begin
      if not exists (select 1 from pg_roles where rolname = v_role) then
        execute format('create role %I nologin', v_role);
      end if;
    exception when duplicate_object or unique_violation then
      null; -- Somebody else made it at the same moment.
    end;
  end loop;
end
$$;

grant usage on schema leasehold to leasehold_producer, leasehold_worker, leasehold_viewer, leasehold_operator;
grant select on leasehold.migrations, leasehold.schema_version, leasehold.schema_place, leasehold.queues to leasehold_producer, leasehold_worker, leasehold_viewer, leasehold_operator;
grant execute on function leasehold.place(), leasehold.is_elsewhere(leasehold.schema_place) to leasehold_producer, leasehold_worker, leasehold_viewer, leasehold_operator;
grant execute on function leasehold.enqueue(jsonb), leasehold.bucket_of(text, int), leasehold.uuid_v7()
  to leasehold_producer, leasehold_worker, leasehold_operator;

grant select, insert, update, delete on leasehold.workers, leasehold.dedupe, leasehold.receipts, leasehold.handled,
  leasehold.fences, leasehold.tenant_leases, leasehold.samples, leasehold.duties to leasehold_worker;
-- Not id, actor and application: they are filled in, and so is at (0016). Not delete: trim_history removes what is old.
grant insert (at, kind, queue, worker_id, count, detail) on leasehold.history to leasehold_worker, leasehold_operator;
grant select on leasehold.history to leasehold_worker, leasehold_viewer, leasehold_operator;
grant execute on function leasehold.note_history(text, text, text, bigint, jsonb, timestamptz) to leasehold_worker, leasehold_operator;
grant execute on function leasehold.trim_history(timestamptz) to leasehold_worker;
grant usage on sequence leasehold.lease_tokens to leasehold_worker;
grant select on sequence leasehold.lease_tokens to leasehold_worker, leasehold_viewer, leasehold_operator;
grant select, delete on leasehold.worker_lease to leasehold_worker;
grant execute on function leasehold.is_due(timestamptz, timestamptz, timestamptz, timestamptz), leasehold.backoff(int, uuid), leasehold.with_error(jsonb, jsonb), leasehold.lock_class(regclass),
  leasehold.assert_read_committed(), leasehold.assert_not_dead(text, text[]), leasehold.refuse_claim(text, bigint, boolean), leasehold.over_budget(int[], int[], int, int),
  leasehold.left_out(int[], int[], int[], int), leasehold.uuid_v7(), leasehold.next_token(), leasehold.first_token(),
  leasehold.make_archive_days(text, int, timestamptz), leasehold.drop_archive_days(text, timestamptz),
  leasehold.evict_worker(), leasehold.worker_channel(text), leasehold.session_lock(text),
  leasehold.failing_since(jsonb, jsonb, timestamptz), leasehold.wake_workers(text, int[]), leasehold.allowed_now(timestamptz),
  leasehold.watch_workers(text, boolean, float8, timestamptz), leasehold.tenant_is_lost(text, leasehold.workers, float8, timestamptz),
  leasehold.predecessors_of(leasehold.workers, text, boolean, float8, timestamptz) to leasehold_worker;

grant select on leasehold.workers, leasehold.worker_lease, leasehold.dedupe, leasehold.handled, leasehold.fences,
  leasehold.tenant_leases, leasehold.samples to leasehold_viewer, leasehold_operator;
grant execute on function leasehold.bucket_of(text, int) to leasehold_viewer;
grant execute on function leasehold.error_fingerprint(text) to leasehold_worker, leasehold_viewer, leasehold_operator;
grant update (paused_at) on leasehold.queues to leasehold_operator;
grant select, insert, update on leasehold.receipts to leasehold_operator;
grant delete on leasehold.worker_lease to leasehold_operator;
grant update (status, left_at, drain_asked_at) on leasehold.workers to leasehold_operator;
grant execute on function leasehold.evict_worker(), leasehold.wake_workers(text, int[]), leasehold.allowed_now(timestamptz)
  to leasehold_operator;
