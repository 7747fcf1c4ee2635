--! scope: schema
--
-- Leasehold in thirty lines
-- -------------------------
-- A queue is a table (leasehold.inbox is the example throughout). A job is a row. Jobs that share a partition key form a
-- line: `seq` is the place in it, `in_line` says that the row holds a place. A bucket is a stable hash of the key.
--
--   enqueue      inbox_enqueue() writes rows; the same ids may be sent again after a commit whose answer was lost.
--   promote      a `scheduled` row that falls due becomes `pending` and draws a new place.
--   claim        inbox_claim() takes `pending` rows from the front of lines and writes a lease on them: who, until when,
--                and a fence token (`lease_generation`) from one sequence, so that it rises along every line.
--   settle       complete (row leaves for the archive), retry (stays in front, later), dead-letter, release. All of them
--                match id, claimed_by and lease_generation, so that a worker whose lease was taken over changes nothing.
--   take over    a claim that meets a row whose lease ran out, or whose worker is marked dead, gives it back first.
--   housekeep    one process at a time: mark stale workers, make and drop archive days, expire dedupe rows, sample.
--
-- Who may write a row, by its status:
--   scheduled, dead_letter   promotion and operators, holding the row's lock
--   pending                  the claim, holding the bucket lock (order: key) or the row's lock (order: none)
--   processing               the worker named in claimed_by under the token in lease_generation; takeover afterwards
--
-- Locks are taken in this order: enqueue slots, bucket locks (try only, never waited for), job rows by id, everything else.
-- The claim waits for nobody: what is locked is skipped.
--
-- Clock: the database's. Functions take an optional `now` which is null in production; tests and the simulation set it (allowed_now).
-- Names: `leasehold` and `inbox` in these files are replaced by the real schema and queue when a statement is bound.
--
-- Tables here: migrations and schema_version (made by migrate() itself), schema_place (0015), queues, workers (with the view worker_lease), dedupe, receipts, handled, fences, tenant_leases, samples.
-- Tables of each queue (0003): inbox, inbox_archive (a partition per UTC day), and for order: key inbox_hot_keys and inbox_turns (0005).

create sequence if not exists leasehold.lease_tokens;

create table if not exists leasehold.queues (
  name text primary key,
  "order" text not null check ("order" in ('key', 'none')),
  is_strict boolean not null default false,
  on_dead_letter text not null default 'continue' check (on_dead_letter in ('continue', 'park')),
  buckets int not null check (buckets between 1 and 1024),
  ring text not null default 'rendezvous' check (ring in ('rendezvous', 'consistent')),
  retention interval not null,
  dedupe_window interval not null,
  paused_at timestamptz,
  created_at timestamptz not null default now()
);
-- How often a job may fail, and how often it may take its worker with it; counted apart, because an outage downstream repeats errors and not crashes. `kinds` has the policy of a kind where it
-- differs: {"receipt.send": {"maxAttempts": 3, "maxCrashes": 2}}. The check keeps out what a claim could not read as a number.
alter table leasehold.queues add column if not exists max_attempts int not null default 12 check (max_attempts between 1 and 1000);
alter table leasehold.queues add column if not exists max_crashes int not null default 5 check (max_crashes between 1 and 1000);
alter table leasehold.queues add column if not exists kinds jsonb not null default '{}' constraint kinds_are_policies check (
  jsonb_typeof(kinds) = 'object' and not jsonb_path_exists(kinds, 'strict $.* ? (@.type() != "object")')
  and not jsonb_path_exists(kinds, 'strict $.*.* ? (@.type() != "number" || @ < 1 || @ > 1000 || @ != @.floor())'));

-- A drop takes several transactions when there is much to remove. The row goes with the last one; from the first one on nobody else sees it.
alter table leasehold.queues add column if not exists dropped_at timestamptz;

create table if not exists leasehold.workers (
  id text primary key,
  hostname text,
  pid int,
  region text,
  status text not null default 'alive' check (status in ('alive', 'draining', 'dead')),
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  ttl interval not null default interval '30 seconds',
  generation bigint not null default 1,
  wake_wish jsonb,
  free_since timestamptz,
  metadata jsonb not null default '{}'
) with (fillfactor = 50);

-- A DELETE on the view evicts (0010).
create or replace view leasehold.worker_lease as
  select id as worker_id, hostname, pid, started_at, last_seen_at as last_heartbeat_at, generation,
         last_seen_at + ttl as expires_at
  from leasehold.workers
  where status <> 'dead';

-- An idempotency key and the job that answers for it, also after that job has finished, until expires_at.
create table if not exists leasehold.dedupe (
  queue text not null,
  idempotency_key text collate "C" not null,
  job_id uuid not null,
  expires_at timestamptz not null,
  primary key (queue, idempotency_key)
);
create index if not exists dedupe_expiry on leasehold.dedupe (expires_at);

-- One row per enqueue call of a queue that keeps no archive, so that a call sent again is known to have committed; and one per batch of a redrive or
-- discard, with the number of rows that it changed.
create table if not exists leasehold.receipts (
  id uuid primary key,
  expires_at timestamptz not null
);
alter table leasehold.receipts add column if not exists changed int;
create index if not exists receipts_expiry on leasehold.receipts (expires_at);

-- The receiver's own dedupe: lh.once(tx, handler, messageId).
create table if not exists leasehold.handled (
  handler text collate "C" not null,
  message_id text collate "C" not null,
  handled_at timestamptz not null default now(),
  primary key (handler, message_id)
);
create index if not exists handled_age on leasehold.handled (handled_at);

-- The highest fence token that a resource has seen: lh.fence(tx, resource, token). seen_at is at most a day behind, so that an index on it does not cost every
-- fenced write. Housekeeping removes what was not seen for 30 days: a lower token is then older than that, and no attempt lasts longer than 7 days.
create table if not exists leasehold.fences (
  resource text collate "C" primary key,
  token bigint not null,
  seen_at timestamptz not null default now()
);
create index if not exists fences_age on leasehold.fences (seen_at);

create table if not exists leasehold.tenant_leases (
  tenant text collate "C" primary key,
  owner text,
  token bigint not null default 0,
  state text not null default 'free' check (state in ('free', 'running', 'draining')),
  expires_at timestamptz
);

-- A bounded history of counts and ages for charts, written by housekeeping.
create table if not exists leasehold.samples (
  queue text not null,
  taken_at timestamptz not null,
  counts jsonb not null,
  primary key (queue, taken_at)
);

-- A library that is older than the schema must not put its functions over the newer ones. It records each file that it has run in the transaction of the file, and here that is
-- refused, also for a library that does not know of revisions.
create or replace function leasehold.refuse_older_library() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_revision int := (select v.revision from leasehold.schema_version v);
begin
  if coalesce(new.revision, 0) < v_revision then
    raise exception 'the schema leasehold has revision %, migrated by a newer version of the library; this one has revision %', v_revision, coalesce(new.revision, 0)
      using errcode = '55000', hint = 'Run the newer version. Nothing was changed.';
  end if;
  return new;
end
$$;
create or replace trigger migrations_of_older before insert or update on leasehold.migrations
  for each row execute function leasehold.refuse_older_library();

-- A UUIDv7 on every supported version: 48 bits of milliseconds, then chance. The library makes its own ids; this is the
-- default for rows written by plain SQL. Bits 52 and 53 turn the version nibble of gen_random_uuid() from 4 into 7.
create or replace function leasehold.uuid_v7() returns uuid
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

-- The bucket of a key. Who wants to know it asks the database, so that producers in every language agree.
create or replace function leasehold.bucket_of(p_key text, p_buckets int) returns int
language sql immutable strict parallel safe as $$
  select ((pg_catalog.hashtextextended(p_key, 0) & 9223372036854775807) % p_buckets)::int
$$;

-- The wait after an attempt: min(2^attempts, 3600) seconds plus up to a quarter of it. The exponent is clamped before the
-- power is taken, so no number of attempts overflows. The jitter comes from the id, so that it repeats in a simulation.
create or replace function leasehold.backoff(p_attempts int, p_id uuid) returns interval
language sql immutable strict parallel safe as $$
  select pg_catalog.make_interval(secs =>
    least(pg_catalog.power(2::float8, least(greatest(p_attempts, 0), 12)), 3600)
    * (1 + 0.25 * (pg_catalog.hashtextextended(p_id::text, p_attempts) & 1023) / 1024.0))
$$;

-- The size of a payload and its headers as text. Numbers make jsonb small and text large: [1e131000] has 131 003 bytes. Without settings of its own, so that
-- the planner inlines it.
create or replace function leasehold.text_bytes(p_payload jsonb, p_headers jsonb) returns int
language sql immutable parallel safe as $$
  select coalesce(pg_catalog.octet_length(p_payload::text), 4) + coalesce(pg_catalog.octet_length(p_headers::text), 2)
$$;

-- True when a row in line may be claimed. A clock that is set back does not matter to a row that waits for nothing: one that was enqueued without a delay, or that a person has redriven.
-- A retry waits for its time as the clock says. Without settings of its own, so that the planner inlines it.
create or replace function leasehold.is_due(p_available_at timestamptz, p_created_at timestamptz, p_redriven_at timestamptz, p_now timestamptz) returns boolean
language sql immutable parallel safe as $$
  select p_available_at <= greatest(p_now, p_created_at) or p_available_at is not distinct from p_redriven_at
$$;

-- A history of attempts, newest last, at most ten long.
create or replace function leasehold.with_error(p_errors jsonb, p_entry jsonb) returns jsonb
language sql immutable parallel safe as $$
  select case when pg_catalog.jsonb_array_length(p_errors) >= 10 then (p_errors - 0) || p_entry
              else p_errors || p_entry end
$$;

-- The first half of a lock key that belongs to one queue: the table's oid, shifted into the range of int4. Bucket locks
-- use second halves 0 to 1023, enqueue slots of strict queues 1024 to 1151.
create or replace function leasehold.lock_class(p_table regclass) returns int
language sql immutable strict parallel safe as $$
  select (p_table::oid::bigint - 2147483648)::int
$$;

-- The time that a caller has set instead of the clock's, for functions that run as their owner. Only those who could do it all by themselves may set one: the owner of the
-- schema, its members, and superusers; a granted role could make the owner drop its archive. Strict, so that it is not called while no time is given. SECURITY DEFINER
-- hides the caller from current_user: what counts is the role that the session has taken, or who has logged in.
create or replace function leasehold.allowed_now(p_now timestamptz) returns timestamptz
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  v_role name := coalesce(nullif(current_setting('role'), 'none')::name, session_user);
begin
  if not pg_has_role(v_role, (select n.nspowner from pg_namespace n where n.nspname = 'leasehold'), 'usage') then
    raise exception 'the role % may not set the time of this call', v_role
      using errcode = '42501', hint = 'Leave "now" out. Only the owner of the schema leasehold may set it, for tests.';
  end if;
  return p_now;
end
$$;

-- A claim must see what committed just before it won its bucket locks; a snapshot taken earlier (repeatable read) would not.
create or replace function leasehold.assert_read_committed() returns void
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'a claim needs the isolation level read committed, this transaction has %',
      current_setting('transaction_isolation')
      using errcode = '25001', hint = 'Claim outside of your transaction, or begin it with: isolation level read committed.';
  end if;
end
$$;

-- What a worker holds that is marked dead is taken over at once, so it must not claim until it has registered again.
create or replace function leasehold.assert_not_dead(p_worker text, p_dead text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_worker = any(p_dead) then
    raise exception 'worker % is marked dead', p_worker
      using errcode = '55000', hint = 'It was evicted or not seen for its TTL. Register it again, or claim under another id.';
  end if;
end
$$;

-- For a worker that its row refuses. Two processes of one id would take each other's rows for their own: the one that registered later has the higher generation, and the other is
-- out. One that has not been seen for its TTL is about to be marked dead; a claim of its that was long on its way would be taken over at once.
drop function if exists leasehold.assert_not_superseded(text, bigint);
create or replace function leasehold.refuse_claim(p_worker text, p_generation bigint, p_is_replaced boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_is_replaced then
    raise exception 'worker % of generation % was replaced by another process of its id', p_worker, p_generation
      using errcode = '55000', hint = 'Two processes must never share an id. This one has to stop, or to register again.';
  end if;
  raise exception 'worker % was not seen for its TTL', p_worker
    using errcode = '55000', hint = 'It has to beat before it may claim.';
end
$$;

-- Of the heads (in order) that have attempts behind them, those beyond what may be claimed: of those that crashed their worker twice or more all beyond p_suspects,
-- and of the others and the rest of these all beyond p_retries. One that may not be claimed takes no place from those behind it.
create or replace function leasehold.over_budget(p_heads int[], p_crashes int[], p_retries int, p_suspects int) returns int[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(c.head), '{}') from (
    select s.head, s.is_over, count(*) filter (where not s.is_over) over (order by s.head) as nth from (
      select t.head, t.crashes >= 2 and count(*) filter (where t.crashes >= 2) over (order by t.head) > p_suspects as is_over
      from unnest(p_heads, p_crashes) t(head, crashes)) s) c
  where c.is_over or c.nth > p_retries
$$;

-- How many of those left out would be claimed if there were more free slots. Those that crashed their worker twice come one at a time, so
-- they count only as far as p_suspects has not been used up.
create or replace function leasehold.left_out(p_heads int[], p_crashes int[], p_over int[], p_suspects int) returns int
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (count(*) filter (where t.is_over and t.crashes < 2) + least(count(*) filter (where t.is_over and t.crashes >= 2),
    greatest(0, p_suspects - count(*) filter (where not t.is_over and t.crashes >= 2))))::int
  from (select u.crashes, u.head = any(p_over) as is_over from unnest(p_heads, p_crashes) u(head, crashes)) t
$$;
