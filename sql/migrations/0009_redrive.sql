--! scope: queue
--
-- Redrive: a person gives rows another round. A dead letter that left its line gets a new place at its end; several keep their
-- relative order. A parked one is still at the front and keeps its place. A row that waits for its backoff becomes due now.
-- Attempts and crashes start again from 0 for dead letters. Whoever waits for their buckets is woken.
--
-- Locks: in strict queues the slots of the keys, in ascending order; then job rows by id. No bucket lock is needed: to a claim a redriven row is one that commits late, which it can deal with.

create or replace function leasehold.inbox_redrive(p_ids uuid[], p_now timestamptz default null) returns setof uuid
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  if (select q.is_strict from leasehold.queues q where q.name = 'inbox') then
    perform leasehold.inbox_lock_slots(array(select j.partition_key from leasehold.inbox j where j.id = any(p_ids)));
  end if;
  return query
    with held as materialized (
      select j.id, j.seq, j.status, j.in_line from leasehold.inbox j
      where j.id = any(p_ids)
        and (j.status = 'dead_letter' or (j.status in ('pending', 'scheduled') and j.available_at > v_now))
      order by j.id for update
    ), placed as materialized (
      select o.id, nextval('leasehold.inbox_seq') as seq
      from (select h.id from held h where h.status = 'dead_letter' and not h.in_line order by h.seq) o
    )
    update leasehold.inbox j set
      status = case when j.status = 'scheduled' then 'scheduled' else 'pending' end,
      seq = coalesce((select p.seq from placed p where p.id = j.id), j.seq),
      finished_at = null, available_at = v_now,
      attempts = case when j.status = 'dead_letter' then 0 else j.attempts end,
      crashes = case when j.status = 'dead_letter' then 0 else j.crashes end
    from held h where j.id = h.id
    returning j.id;
  perform leasehold.wake_workers('inbox', array(select j.partition_bucket from leasehold.inbox j where j.id = any(p_ids)));
end
$$;

revoke all on all functions in schema leasehold from public;
