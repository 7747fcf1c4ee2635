--! scope: schema
--
-- Archive days. The archive of a queue is range-partitioned by UTC day of finished_at; a partition is named
-- inbox_a20261115. A row whose day is missing goes to inbox_archive_rest, so a missing day never stops work.
-- These functions run as their owner: a worker may make and drop days without being allowed any other DDL.

--
-- A dead letter that let its key go on stays in the queue's table for dead_letter_retention, where a redrive finds it; then housekeeping moves it to the archive,
-- under the day of the move, where it is kept for the retention. 0 keeps it in the queue's table for ever. A parked dead letter holds its key and is never moved.
--
-- How long a settle may wait for these functions is bounded: each call waits at most 200 ms for a lock (lock timeout), and while it holds one that
-- stops settles it moves or reads at most 1 000 rows. A day of more rows is left in the rest, readable as ever, until the retention deletes it in batches; other
-- days are attached beside it without reading it.
--
-- PostgreSQL reads the whole rest under an access exclusive lock when a day is attached, unless a valid check constraint of the rest excludes that day. A constraint that excludes
-- a day for longer than the attach would stop the settles of that day. So the rest has one that excludes nothing (0003), except in the transaction that attaches: there it
-- excludes the day that `leasehold.attaching` names, after make_archive_day has made sure by an index that no row of the day is in the rest. Nothing is left behind when that transaction ends.

alter table leasehold.queues add column if not exists dead_letter_retention interval not null default interval '30 days';

-- The beginning of the day that is being attached, or of the one p_days later; infinity while none is. Immutable by declaration, not in fact: then PostgreSQL evaluates it once
-- per statement and can compare the constraint of the rest with the bounds of the new day. Both happen in the session that has set the day. Open to everybody: the planner
-- calls it for every role that reads the archive.
create or replace function leasehold.attaching_day(p_days int) returns timestamptz
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((to_date(nullif(current_setting('leasehold.attaching', true), ''), 'YYYYMMDD') + p_days)::timestamp at time zone 'UTC', 'infinity');
end
$$;
grant execute on function leasehold.attaching_day(int) to public;

drop function if exists leasehold.cut_archive_rest(text, int, timestamptz);
drop function if exists leasehold.archive_cuts(text);
drop function if exists leasehold.count_archive_rest(text);

-- Makes the days from today to p_days ahead that are missing, and the oldest day that has rows in the rest; returns how many were made. While the rest has rows
-- it makes one day a call, so that each is a transaction of its own. A day with more than 1 000 rows in the rest is not made. What could not be locked is made by a later call.
create or replace function leasehold.make_archive_days(p_queue text, p_days int, p_now timestamptz default null)
returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_today date := (coalesce(leasehold.allowed_now(p_now), now()) at time zone 'UTC')::date;
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_oldest date;
  v_day date;
  v_made int := 0;
begin
  perform 1 from leasehold.queues q where q.name = p_queue;
  if not found then
    raise exception 'queue % does not exist', p_queue using errcode = '42P01';
  end if;
  -- Once, for a rest that had rows when it got its constraint: reads it under share update exclusive, which stops no settle.
  if exists (select 1 from pg_constraint c where c.conrelid = v_rest::regclass and c.conname = 'not_attaching' and not c.convalidated) then
    execute format('alter table %s validate constraint not_attaching', v_rest);
  end if;
  execute format('select (min(r.finished_at) at time zone ''UTC'')::date from %s r', v_rest) into v_oldest;
  for v_day in select v_today + n from generate_series(0, least(p_days, 60)) n union select v_oldest where v_oldest is not null order by 1
  loop
    exit when v_made > 0 and v_oldest is not null;
    if to_regclass(format('%I.%I', 'leasehold', p_queue || to_char(v_day, '"_a"YYYYMMDD'))) is null and leasehold.count_strays(p_queue, v_day) <= 1000 then
      begin
        perform leasehold.make_archive_day(p_queue, v_day);
        v_made := v_made + 1;
      exception
        when lock_not_available then exit; -- Somebody reads the archive; a later call looks again, so that settles wait once.
        when duplicate_table or program_limit_exceeded then null; -- Somebody makes the same day, or more rows of it have come.
      end;
    end if;
  end loop;
  return v_made;
end
$$;

-- Rows of a day in the rest, counted up to 1 001. By inbox_rest_age.
create or replace function leasehold.count_strays(p_queue text, p_day date) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_count int;
begin
  execute format('select count(*) from (select 1 from %I.%I where finished_at >= %L and finished_at < %L limit 1001) s', 'leasehold', p_queue || '_archive_rest',
    p_day::timestamp at time zone 'UTC', (p_day + 1)::timestamp at time zone 'UTC') into v_count;
  return v_count;
end
$$;

-- Makes one day, fills it with what waited in the rest, and attaches it without a look through the rest.
-- Locks: share update exclusive on the parent, access exclusive on the rest.
create or replace function leasehold.make_archive_day(p_queue text, p_day date) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_part text := format('%I.%I', 'leasehold', p_queue || to_char(p_day, '"_a"YYYYMMDD'));
  v_parent text := format('%I.%I', 'leasehold', p_queue || '_archive');
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
begin
  -- What is looked at below must be as new as the lock: a snapshot taken before it would miss rows, and they would be left in the wrong partition.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'archive days need the isolation level read committed, this transaction has %', current_setting('transaction_isolation')
      using errcode = '25001', hint = 'Call it outside of your transaction, or begin it with: isolation level read committed.';
  end if;
  -- Nothing may settle into the rest between the move and the attach. Locked before the table is made, so that a try that fails leaves nothing in the catalog.
  execute format('lock table only %s in share update exclusive mode', v_parent);
  execute format('lock table %s in access exclusive mode', v_rest);
  if leasehold.count_strays(p_queue, p_day) > 1000 then -- more have come since the caller looked
    raise exception '% has more than 1 000 rows of %', v_rest, p_day using errcode = '54000';
  end if;
  execute format('create table %s (like %s including defaults including constraints)', v_part, v_parent);
  execute format('alter table %s replica identity full', v_part);
  execute format('with moved as (delete from %s where finished_at >= %L and finished_at < %L returning *) '
              || 'insert into %s select * from moved', v_rest, v_from, v_to, v_part);
  -- From here on the day is excluded. Nothing reads the rest until it is not: the planner would leave out its rows.
  perform set_config('leasehold.attaching', to_char(p_day, 'YYYYMMDD'), true);
  execute format('alter table %s attach partition %s for values from (%L) to (%L)', v_parent, v_part, v_from, v_to);
  perform set_config('leasehold.attaching', '', true);
end
$$;

-- Drops the first day that ended longer ago than the queue's retention and that nobody reads, and at most 10 000 older rows of the rest; returns how many days
-- went, one or none. The detach takes an access exclusive lock on the parent, for an instant or not at all (200 ms).
create or replace function leasehold.drop_archive_days(p_queue text, p_now timestamptz default null) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_parent text := format('%I.%I', 'leasehold', p_queue || '_archive');
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_before timestamptz;
  v_part record;
  v_dropped int := 0;
begin
  select coalesce(leasehold.allowed_now(p_now), now()) - q.retention into v_before from leasehold.queues q where q.name = p_queue;
  if v_before is null then
    raise exception 'queue % does not exist', p_queue using errcode = '42P01';
  end if;
  -- Before the detach, whose lock on the parent lasts until the commit.
  execute format('delete from %s where ctid in (select ctid from %s where finished_at < %L order by finished_at limit 10000)', v_rest, v_rest, v_before);
  for v_part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = v_parent::regclass and right(c.relname, 10) ~ '^_a[0-9]{8}$'
      and (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= v_before
    order by c.relname
  loop
    begin
      execute format('alter table %s detach partition %I.%I', v_parent, 'leasehold', v_part.relname);
      execute format('drop table %I.%I', 'leasehold', v_part.relname);
      v_dropped := 1;
      exit;
    exception when lock_not_available then
      null; -- A reader is on the archive; a later call tries again.
    end;
  end loop;
  return v_dropped;
end
$$;
