--! scope: schema
--
-- Archive days. The archive of a queue is range-partitioned by UTC day of finished_at; a partition is named
-- inbox_a20261115. A row whose day is missing goes to inbox_archive_rest, so a missing day never stops work.
-- These functions run as their owner: a worker may make and drop days without being allowed any other DDL.

-- Makes the days from today to p_days ahead that are missing, and those of rows that wait in the rest; returns how many were made. A
-- day is created apart, filled with what waited in the rest, and attached, so that the parent is locked for an instant only (share
-- update exclusive, and access exclusive on the rest). Lock timeout 200 ms: what could not be locked is made by a later call.
create or replace function leasehold.make_archive_days(p_queue text, p_days int, p_now timestamptz default null)
returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_today date := (coalesce(p_now, now()) at time zone 'UTC')::date;
  v_day date;
  v_made int := 0;
begin
  perform 1 from leasehold.queues q where q.name = p_queue;
  if not found then
    raise exception 'queue % does not exist', p_queue using errcode = '42P01';
  end if;
  for v_day in execute format(
    'select $1 + n from generate_series(0, least($2, 60)) n union '
    'select distinct (r.finished_at at time zone ''UTC'')::date from (select finished_at from %I.%I limit 10000) r order by 1',
    'leasehold', p_queue || '_archive_rest') using v_today, p_days
  loop
    if to_regclass(format('%I.%I', 'leasehold', p_queue || to_char(v_day, '"_a"YYYYMMDD'))) is null then
      begin
        perform leasehold.make_archive_day(p_queue, v_day);
        v_made := v_made + 1;
      exception when lock_not_available or duplicate_table or check_violation then
        null; -- Somebody reads the archive or makes the same day; a later call looks again.
      end;
    end if;
  end loop;
  return v_made;
end
$$;

create or replace function leasehold.make_archive_day(p_queue text, p_day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_part text := format('%I.%I', 'leasehold', p_queue || to_char(p_day, '"_a"YYYYMMDD'));
  v_parent text := format('%I.%I', 'leasehold', p_queue || '_archive');
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
begin
  execute format('create table %s (like %s including defaults including constraints)', v_part, v_parent);
  -- Nothing may settle into the rest between the move and the attach, or the attach is refused.
  execute format('lock table only %s in share update exclusive mode', v_parent);
  execute format('lock table %s in access exclusive mode', v_rest);
  execute format('with moved as (delete from %s where finished_at >= %L and finished_at < %L returning *) '
              || 'insert into %s select * from moved', v_rest, v_from, v_to, v_part);
  execute format('alter table %s attach partition %s for values from (%L) to (%L)', v_parent, v_part, v_from, v_to);
end
$$;

-- Drops the days that ended longer ago than the queue's retention, and at most 10 000 older rows of the rest; returns how
-- many days went. The detach takes an access exclusive lock on the parent, for an instant or not at all (200 ms).
create or replace function leasehold.drop_archive_days(p_queue text, p_now timestamptz default null) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_parent text := format('%I.%I', 'leasehold', p_queue || '_archive');
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_before timestamptz;
  v_part record;
  v_dropped int := 0;
begin
  select coalesce(p_now, now()) - q.retention into v_before from leasehold.queues q where q.name = p_queue;
  if v_before is null then
    raise exception 'queue % does not exist', p_queue using errcode = '42P01';
  end if;
  for v_part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = v_parent::regclass and right(c.relname, 10) ~ '^_a[0-9]{8}$'
      and (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= v_before
    order by c.relname
  loop
    begin
      execute format('alter table %s detach partition %I.%I', v_parent, 'leasehold', v_part.relname);
      execute format('drop table %I.%I', 'leasehold', v_part.relname);
      v_dropped := v_dropped + 1;
    exception when lock_not_available then
      null; -- A reader is on the archive; a later call tries again.
    end;
  end loop;
  execute format('delete from %s where ctid in (select ctid from %s where finished_at < %L limit 10000)', v_rest, v_rest, v_before);
  return v_dropped;
end
$$;
