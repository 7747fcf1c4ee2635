/**
 * Triggers that write down what becomes of every row, in a schema of their own beside the one that is watched: apart from the code they watch, and in the order in which
 * the database did it.
 */
export function recorderSchema(schema: string): string {
  return `${schema}_record`;
}

/** A setting under which nothing is recorded. (To switch triggers off would have the server forget every plan.) */
export const silence = "simulation.is_silent";

/** `keeps` for a server that crashes: what is not logged is emptied by its recovery. */
export function recorderSql(schema: string, queue: string, keeps: "all" | "until a crash"): string {
  const record = recorderSchema(schema);
  const isSilent = `pg_catalog.current_setting('${silence}', true) = 'on'`;
  return `
drop schema if exists ${record} cascade;
create schema ${record};
create ${keeps === "all" ? "" : "unlogged"} table ${record}.entries (
  n bigserial primary key,
  xact text not null default pg_current_xact_id()::text,
  at timestamptz not null default clock_timestamp(),
  by text not null default current_setting('application_name'),
  "is" text not null,
  body jsonb not null
);
create function ${record}.state(r ${schema}.${queue}) returns jsonb language sql immutable as $$
  select pg_catalog.jsonb_build_object('status', r.status, 'isFinished', r.finished_at is not null, 'worker', r.claimed_by, 'token', r.lease_generation::text,
    'attempts', r.attempts, 'crashes', r.crashes, 'maxAttempts', r.max_attempts, 'expires', extract(epoch from r.lease_expires_at) * 1000,
    -- A job without a delay, or one that was redriven, is due whatever the time is, also when the server's clock was set back since.
    'available', extract(epoch from case when r.available_at <= r.created_at or r.available_at = r.redriven_at then timestamptz 'epoch' else r.available_at end) * 1000)
$$;
create function ${record}.on_row() returns trigger language plpgsql as $$
begin
  if ${isSilent} then return null; end if;
  insert into ${record}.entries ("is", body) values ('moved', pg_catalog.jsonb_build_object(
    'id', coalesce(new.id, old.id), 'key', coalesce(new.partition_key, old.partition_key), 'seq', coalesce(new.seq, old.seq)::text,
    'idempotencyKey', coalesce(new.idempotency_key, old.idempotency_key),
    'from', case when tg_op <> 'INSERT' then ${record}.state(old) end, 'to', case when tg_op <> 'DELETE' then ${record}.state(new) end));
  return null;
end $$;
create trigger record after insert or update or delete on ${schema}.${queue} for each row execute function ${record}.on_row();
create function ${record}.on_archive() returns trigger language plpgsql as $$
begin
  if ${isSilent} then return null; end if;
  insert into ${record}.entries ("is", body) values ('archived', pg_catalog.jsonb_build_object(
    'id', new.id, 'status', new.status, 'token', new.lease_generation::text, 'attempts', new.attempts));
  return null;
end $$;
create trigger record after insert on ${schema}.${queue}_archive for each row execute function ${record}.on_archive();
create function ${record}.on_worker() returns trigger language plpgsql as $$
begin
  if ${isSilent} then return null; end if;
  insert into ${record}.entries ("is", body) values ('registered', pg_catalog.jsonb_build_object(
    'worker', new.id, 'status', new.status, 'generation', new.generation::text));
  return null;
end $$;
create function ${record}.on_queue() returns trigger language plpgsql as $$
begin
  if ${isSilent} then return null; end if;
  insert into ${record}.entries ("is", body) values ('paused', pg_catalog.jsonb_build_object('isPaused', new.paused_at is not null));
  return null;
end $$;
create trigger record after update on ${schema}.queues for each row
  when (new.name = '${queue}' and (old.paused_at is null) <> (new.paused_at is null)) execute function ${record}.on_queue();
create trigger record_new after insert on ${schema}.workers for each row execute function ${record}.on_worker();
create trigger record_change after update on ${schema}.workers for each row
  when (old.status is distinct from new.status or old.generation <> new.generation) execute function ${record}.on_worker();
`;
}

/** Tells a channel what was recorded, entry by entry. Each has its number, because of equal ones a transaction would tell only one. */
export function tellingSql(schema: string, channel: string): string {
  const record = recorderSchema(schema);
  return `
create function ${record}.tell() returns trigger language plpgsql as $$
begin
  perform pg_catalog.pg_notify('${channel}', pg_catalog.jsonb_build_object('n', new.n, 'xact', new.xact, 'is', new."is", 'body', new.body)::text);
  return null;
end $$;
create trigger tell after insert on ${record}.entries for each row execute function ${record}.tell();
`;
}

/** What a handler runs in its transaction to leave an effect. */
export function effectSql(schema: string): string {
  return `insert into ${recorderSchema(schema)}.entries ("is", body)
    values ('effect', jsonb_build_object('how', $1::text, 'id', $2::text, 'key', $3::text, 'token', $4::text))`;
}
