--! scope: schema
--
-- Enqueue from plain SQL, in any language: one job or an array of jobs as jsonb. All jobs of a call go to one queue
-- ("queue", by default inbox). Answers one row per job. Fields as in inbox_enqueue; kind is required. A field of another name is refused: a misspelled partition_key would cost the job its order.
--   select * from leasehold.enqueue('{"kind": "receipt.send", "partition_key": "order:9182", "payload": {"order": 9182}}');

-- The known field that a misspelled one resembles most: with the longest common beginning, whatever the style. Null when there is none of three letters or more.
create or replace function leasehold.nearest_field(p_given text, p_known text[]) returns text
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select f.field from unnest(p_known) f(field)
  cross join lateral (select lower(translate(f.field, '_-', '')) as known, lower(translate(p_given, '_-', '')) as given) p
  cross join lateral (select max(n) as letters from generate_series(1, length(p.known)) n where left(p.known, n) = left(p.given, n)) c
  where c.letters >= 3 order by c.letters desc, f.field limit 1
$$;

create or replace function leasehold.enqueue(p_jobs jsonb) returns table (id uuid, duplicate boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_jobs jsonb := case jsonb_typeof(p_jobs) when 'array' then p_jobs else jsonb_build_array(p_jobs) end;
  c_fields constant text[] := array['kind', 'payload', 'partition_key', 'idempotency_key', 'delay_ms', 'available_at', 'priority', 'max_attempts', 'headers', 'id', 'queue'];
  v_queues text[];
  v_unknown text;
begin
  select array_agg(distinct coalesce(j ->> 'queue', 'inbox')) into v_queues from jsonb_array_elements(v_jobs) j;
  if v_queues is null then return; end if;
  if cardinality(v_queues) > 1 then
    raise exception 'the jobs of one call belong to one queue, these name %', array_to_string(v_queues, ', ')
      using errcode = '22023', hint = 'Call enqueue once for each queue.';
  end if;
  perform 1 from leasehold.queues q where q.name = v_queues[1] and q.dropped_at is null;
  if not found then
    raise exception 'queue % does not exist', v_queues[1]
      using errcode = '42P01', hint = 'Create it first with lh.queue(name, { order }).';
  end if;
  if exists (select 1 from jsonb_array_elements(v_jobs) j where j ->> 'kind' is null) then
    raise exception 'a job has no kind' using errcode = '22023', hint = 'Give every job a kind, such as "receipt.send".';
  end if;
  select k into v_unknown from jsonb_array_elements(v_jobs) j cross join lateral jsonb_object_keys(j) k where k <> all(c_fields) limit 1;
  if found then
    raise exception 'a job has no field %', quote_literal(v_unknown) using errcode = '22023',
      hint = coalesce('Did you mean ' || leasehold.nearest_field(v_unknown, c_fields) || '? ', '') || 'The fields are ' || array_to_string(c_fields, ', ') || '.';
  end if;
  return query execute format('select e.id, e.duplicate from %I.%I($1) e order by e.n', 'leasehold', v_queues[1] || '_enqueue')
    using jsonb_build_object('jobs', v_jobs)::text;
end
$$;
