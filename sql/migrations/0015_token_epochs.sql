--! scope: schema
--
-- Fence tokens never repeat, also after a restore
-- -----------------------------------------------
-- A restore to an earlier time, the promotion of a standby that was behind, and a dump loaded elsewhere all set the sequence of tokens back. Tokens would repeat, and a
-- fence outside of this database would refuse the living and admit the dead. So a token is (epoch << 32) + a number. The epoch is 0 at first. A new one is the number of
-- seconds since 2026 when it begins, so that it is higher than any that a restore has made the database forget. It begins
--
--   by itself          when the timeline of the server has risen: it was restored to a point in time, or promoted
--   when told to       by begin_token_epoch(), when the schema was loaded from a dump, copied, or moved to another system. Until then no token is drawn: nobody can
--                      tell from here whether the original is still at work.
--
-- Nothing that has drawn a token lives to see its server restored or promoted, so each connection looks once, and notes it in a setting of its own.

create table if not exists leasehold.schema_place (
  is_only boolean primary key default true check (is_only),
  timeline int,             -- null where the server does not tell
  system_id bigint,         -- null where the server does not tell
  database_id oid not null,
  schema_id oid not null,
  since timestamptz not null default now()
);

-- Where the schema is now. Some managed servers keep one or the other from their users.
create or replace function leasehold.place(out timeline int, out system_id bigint, out database_id oid, out schema_id oid)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  database_id := (select d.oid from pg_database d where d.datname = current_database());
  schema_id := 'leasehold'::regnamespace::oid;
  begin
    system_id := (select c.system_identifier from pg_control_system() c);
  exception when insufficient_privilege or feature_not_supported or undefined_function then null;
  end;
  begin
    if not pg_is_in_recovery() then
      timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int;
    end if;
  exception when insufficient_privilege or feature_not_supported or undefined_function or object_not_in_prerequisite_state then null;
  end;
end
$$;

insert into leasehold.schema_place (timeline, system_id, database_id, schema_id)
select p.timeline, p.system_id, p.database_id, p.schema_id from leasehold.place() p on conflict do nothing;

create or replace function leasehold.is_elsewhere(p_was leasehold.schema_place) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select p.database_id <> p_was.database_id or p.schema_id <> p_was.schema_id
    or coalesce(p.system_id <> p_was.system_id, false) or coalesce(p.timeline < p_was.timeline, false)
  from leasehold.place() p
$$;

-- After a dump was loaded, or the schema copied or moved: this is the right place from now on, and its tokens are higher than any that were drawn before. For the owner of the
-- schema. May be called again: each call begins an epoch, which is returned. The sequence never goes back.
create or replace function leasehold.begin_token_epoch() returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_epoch bigint;
begin
  insert into leasehold.schema_place as w (timeline, system_id, database_id, schema_id)
  select p.timeline, p.system_id, p.database_id, p.schema_id from leasehold.place() p
  on conflict (is_only) do update set timeline = excluded.timeline, system_id = excluded.system_id, database_id = excluded.database_id, schema_id = excluded.schema_id, since = now();
  select greatest((s.last_value >> 32) + 1, extract(epoch from clock_timestamp() - timestamptz '2026-01-01 00:00:00+00')::bigint) into v_epoch from leasehold.lease_tokens s;
  perform setval('leasehold.lease_tokens', v_epoch << 32);
  return v_epoch;
end
$$;

-- The first token of a connection. Runs as the owner: roles may draw tokens, not set the sequence.
create or replace function leasehold.first_token() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_was leasehold.schema_place;
  v_timeline int := (select p.timeline from leasehold.place() p);
begin
  select * into v_was from leasehold.schema_place;
  if not found then -- somebody has emptied all tables, as tests do
    insert into leasehold.schema_place as w (timeline, system_id, database_id, schema_id)
    select p.timeline, p.system_id, p.database_id, p.schema_id from leasehold.place() p on conflict (is_only) do update set since = w.since returning * into v_was;
  end if;
  if v_timeline is distinct from v_was.timeline then
    select * into v_was from leasehold.schema_place for update; -- Another connection may have been first.
  end if;
  if leasehold.is_elsewhere(v_was) then
    raise exception 'the schema leasehold was restored or copied to where it is now, and its fence tokens may repeat'
      using errcode = 'LHR01', hint = 'When nobody works on the original any more, call acceptRestore(), or run: select leasehold.begin_token_epoch()';
  end if;
  if v_timeline > v_was.timeline then
    perform leasehold.begin_token_epoch();
  elsif v_was.timeline is null and v_timeline is not null then -- The server did not tell before.
    update leasehold.schema_place set timeline = v_timeline;
  end if;
  perform set_config('leasehold_tokens.s' || v_was.schema_id, 'checked', false);
  return nextval('leasehold.lease_tokens');
end
$$;

create or replace function leasehold.next_token() returns bigint
language sql as $$
  select case when pg_catalog.current_setting(pg_catalog.concat('leasehold_tokens.s', 'leasehold'::pg_catalog.regnamespace::pg_catalog.oid), true) = 'checked'
    then pg_catalog.nextval('leasehold.lease_tokens') else leasehold.first_token() end
$$;
