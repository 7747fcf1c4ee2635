-- The rights of the roles in schema.sql on one queue. Runs when a queue is created and does nothing while the roles do not exist.

do $$
begin
  if (select count(*) from pg_roles where rolname in
      ('leasehold_producer', 'leasehold_worker', 'leasehold_viewer', 'leasehold_operator')) < 4 then
    return;
  end if;

  grant execute on function leasehold.inbox_enqueue(text) to leasehold_producer, leasehold_worker, leasehold_operator;
  -- A plain insert: not of the columns that are the library's own, so that the trigger of 0004 always fills them.
  grant insert (id, kind, payload, headers, partition_key, idempotency_key, priority, max_attempts, available_at) on leasehold.inbox
    to leasehold_producer, leasehold_worker, leasehold_operator;

  -- Not payload, headers and bytes: no update changes what a job says.
  revoke update on leasehold.inbox from leasehold_worker, leasehold_operator;
  grant update (seq, lease_generation, available_at, claimed_at, lease_expires_at, finished_at, redriven_at, attempts, crashes, status, claimed_by, last_error, errors)
    on leasehold.inbox to leasehold_worker, leasehold_operator;
  grant select, delete on leasehold.inbox to leasehold_worker;
  grant select, insert on leasehold.inbox_archive to leasehold_worker;
  grant select on leasehold.inbox_archive_rest to leasehold_worker;
  grant usage on sequence leasehold.inbox_seq to leasehold_worker;
  grant execute on function leasehold.inbox_slot(text), leasehold.inbox_promote(int[], int, timestamptz), leasehold.inbox_find_free(int[], int, timestamptz),
    leasehold.inbox_rest(int, int, bigint, bigint, timestamptz, bigint, int, boolean), leasehold.inbox_note(text, int, text, bigint), leasehold.inbox_next_due(int[], timestamptz),
    leasehold.inbox_complete(text, uuid[], bigint[], timestamptz),
    leasehold.inbox_remove_done(text, uuid[], bigint[], timestamptz, boolean),
    leasehold.inbox_archive_done(text, uuid[], bigint[], timestamptz),
    leasehold.inbox_recover(uuid[], uuid[], text, bigint[], text[], timestamptz), leasehold.inbox_tell_dead(),
    leasehold.inbox_claim(text, int[], text[], int, int, int, int, bigint, bigint[], timestamptz, text[], bigint[], bigint[], bigint, bigint, text[]),
    leasehold.inbox_claim_woken(text, int[], int, int, bigint, timestamptz, bigint[], bigint, bigint, text[]) to leasehold_worker;
  if to_regclass('leasehold.inbox_hot_keys') is not null then
    grant select, insert, update, delete on leasehold.inbox_hot_keys to leasehold_worker;
    grant select, insert, update on leasehold.inbox_turns to leasehold_worker;
    grant execute on function
      leasehold.inbox_walk(int[], text[], text[], bigint[], int, bigint, int, int, int, int, text, bigint[], text[], text[], timestamptz),
      leasehold.inbox_take_turns(int[], bigint[], boolean, boolean), leasehold.inbox_note_taken(int[], bigint[]), leasehold.inbox_lock_runs(tid[], int[], timestamptz),
      leasehold.inbox_within_bytes(tid[], bigint, boolean), leasehold.inbox_try_buckets(int[], text[], text[], bigint[], bigint[], boolean),
      leasehold.inbox_check(int[], text[], int, text, bigint[], text[], timestamptz),
      leasehold.inbox_remember(int[], text[], bigint[]),
      leasehold.inbox_recover_keys(int[], text[], text, bigint[], text[], timestamptz) to leasehold_worker;
  else
    grant execute on function leasehold.inbox_pick(int[], text[], int, int, text, bigint[], text[], text[], timestamptz), leasehold.inbox_fronts(int[], text[]), leasehold.inbox_ends(int[], timestamptz),
      leasehold.inbox_find_lost(int[], int, text, bigint[], text[], timestamptz) to leasehold_worker;
  end if;

  grant select on leasehold.inbox, leasehold.inbox_archive to leasehold_viewer, leasehold_operator;
  grant delete on leasehold.inbox to leasehold_operator;
  grant insert on leasehold.inbox_archive to leasehold_operator;
  grant usage on sequence leasehold.inbox_seq to leasehold_operator;
  grant execute on function leasehold.inbox_redrive(uuid[], text[], uuid, timestamptz), leasehold.inbox_discard(uuid[], text[], text, uuid, timestamptz),
    leasehold.inbox_redrive(uuid[], text[], uuid, jsonb, timestamptz), leasehold.inbox_discard(uuid[], text[], text, uuid, jsonb, timestamptz),
    leasehold.inbox_receipt(uuid, timestamptz), leasehold.inbox_restore(uuid[]), leasehold.inbox_lock_slots(text[]) to leasehold_operator;
end
$$;
