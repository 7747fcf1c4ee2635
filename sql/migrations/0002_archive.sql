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
-- stops settles it moves or reads at most 1 000 rows. A rest of more rows is left where it is, readable as ever, until the retention deletes it in batches, and
-- days are attached beside it without reading it (cut_archive_rest).

alter table leasehold.queues add column if not exists dead_letter_retention interval not null default interval '30 days';

-- Makes the days from today to p_days ahead that are missing, and the oldest day that has rows in the rest; returns how many were made. While the rest has rows
-- it makes one day a call, so that each is a transaction of its own; with more than 1 000 rows in the rest it makes none. A day is created apart, filled with what
-- waited in the rest, and attached: share update exclusive on the parent, access exclusive on the rest. What could not be locked is made by a later call.
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
  if leasehold.count_archive_rest(p_queue) > 1000 then return 0; end if;
  execute format('select (min(r.finished_at) at time zone ''UTC'')::date from %s r', v_rest) into v_oldest;
  for v_day in select v_today + n from generate_series(0, least(p_days, 60)) n union select v_oldest where v_oldest is not null order by 1
  loop
    exit when v_made > 0 and v_oldest is not null;
    if to_regclass(format('%I.%I', 'leasehold', p_queue || to_char(v_day, '"_a"YYYYMMDD'))) is null then
      begin
        perform leasehold.make_archive_day(p_queue, v_day);
        v_made := v_made + 1;
      exception when lock_not_available or duplicate_table or check_violation or program_limit_exceeded then
        null; -- Somebody reads the archive or makes the same day, or the rest has grown; a later call looks again.
      end;
    end if;
  end loop;
  return v_made;
end
$$;

-- Rows in the rest, counted up to 1 001.
create or replace function leasehold.count_archive_rest(p_queue text) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_count int;
begin
  execute format('select count(*) from (select 1 from %I.%I limit 1001) s', 'leasehold', p_queue || '_archive_rest') into v_count;
  return v_count;
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
  execute format('alter table %s replica identity full', v_part);
  -- Nothing may settle into the rest between the move and the attach, or the attach is refused.
  execute format('lock table only %s in share update exclusive mode', v_parent);
  execute format('lock table %s in access exclusive mode', v_rest);
  if not exists (select 1 from leasehold.archive_cuts(p_queue) c where c.is_valid and p_day between c.first_day and c.last_day) then
    if leasehold.count_archive_rest(p_queue) > 1000 then -- it has grown since the caller looked
      raise exception '% has more than 1 000 rows', v_rest using errcode = '54000';
    end if;
    execute format('with moved as (delete from %s where finished_at >= %L and finished_at < %L returning *) '
                || 'insert into %s select * from moved', v_rest, v_from, v_to, v_part);
  end if;
  execute format('alter table %s attach partition %s for values from (%L) to (%L)', v_parent, v_part, v_from, v_to);
end
$$;

-- The check constraint of the rest that is there while cut_archive_rest is at work; its name holds its days.
create or replace function leasehold.archive_cuts(p_queue text)
returns table (name text, is_valid boolean, first_day date, last_day date)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select c.conname, c.convalidated, to_date(substr(c.conname, 5, 8), 'YYYYMMDD'), to_date(substr(c.conname, 14, 8), 'YYYYMMDD')
  from pg_constraint c
  where c.conrelid = format('%I.%I', 'leasehold', p_queue || '_archive_rest')::regclass and c.contype = 'c' and c.conname ~ '^cut_[0-9]{8}_[0-9]{8}$'
$$;

-- Makes the missing days ahead when the rest has more than 1 000 rows. Attaching a day makes PostgreSQL read the whole rest under an access exclusive lock,
-- unless a valid check constraint of the rest excludes the day. So, each step in a call of its own:
--   1  add the constraint, not valid: an instant of access exclusive on the rest
--   2  validate it: reads the rest under share update exclusive, which stops no settle
--   3  attach the days, one a call, then drop the constraint: an instant each
-- Answers 'again' while there is a further step, 'made' when it has attached a day, 'done' otherwise. The constraint itself says how far it has come, so that any process goes on.
--
-- While the constraint is there, no row of its days can go to the rest. So they begin an hour from now or later, and a constraint that was left behind is dropped half an hour before
-- they begin. Today's rows go on to the rest until then.
create or replace function leasehold.cut_archive_rest(p_queue text, p_days int, p_now timestamptz default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '200ms' as $$
declare
  v_now timestamptz := coalesce(leasehold.allowed_now(p_now), now());
  v_first date := ((v_now + interval '1 hour') at time zone 'UTC')::date + 1;
  v_last date := (v_now at time zone 'UTC')::date + least(p_days, 60);
  v_rest text := format('%I.%I', 'leasehold', p_queue || '_archive_rest');
  v_cut record;
  v_day date;
begin
  perform 1 from leasehold.queues q where q.name = p_queue;
  if not found then
    raise exception 'queue % does not exist', p_queue using errcode = '42P01';
  end if;
  select c.* into v_cut from leasehold.archive_cuts(p_queue) c order by c.name limit 1;
  if v_cut.name is not null then v_first := v_cut.first_day; v_last := v_cut.last_day; end if;
  select v_first + n into v_day from generate_series(0, v_last - v_first) n
  where to_regclass(format('%I.%I', 'leasehold', p_queue || to_char(v_first + n, '"_a"YYYYMMDD'))) is null order by n limit 1;
  if v_cut.name is null then
    if v_day is null or leasehold.count_archive_rest(p_queue) <= 1000 then return 'done'; end if;
    execute format('alter table %s add constraint cut_%s_%s check (finished_at < %L or finished_at >= %L) not valid', v_rest,
      to_char(v_first, 'YYYYMMDD'), to_char(v_last, 'YYYYMMDD'), v_first::timestamp at time zone 'UTC', (v_last + 1)::timestamp at time zone 'UTC');
    return 'again';
  end if;
  if v_day is not null and not v_cut.is_valid and v_now < (v_first::timestamp at time zone 'UTC') - interval '30 minutes' then
    begin
      execute format('alter table %s validate constraint %I', v_rest, v_cut.name);
      return 'again';
    exception when check_violation then
      v_day := null; -- The rest has rows of these days.
    end;
  end if;
  if v_day is not null and v_cut.is_valid then
    perform leasehold.make_archive_day(p_queue, v_day);
    return 'made';
  end if;
  execute format('alter table %s drop constraint %I', v_rest, v_cut.name);
  return 'done';
exception when lock_not_available or duplicate_table then
  return 'done'; -- Somebody reads the archive; a later call goes on.
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
