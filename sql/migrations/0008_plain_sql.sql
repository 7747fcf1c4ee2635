--! scope: schema
--
-- Enqueue from plain SQL, in any language: one job or an array of jobs as jsonb. All jobs of a call go to one queue
-- ("queue", by default inbox). Answers one row per job. Fields as in inbox_enqueue; kind is required.
--   select * from leasehold.enqueue('{"kind": "receipt.send", "partition_key": "order:9182", "payload": {"order": 9182}}');

create or replace function leasehold.enqueue(p_jobs jsonb) returns table (id uuid, duplicate boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_jobs jsonb := case jsonb_typeof(p_jobs) when 'array' then p_jobs else jsonb_build_array(p_jobs) end;
  v_queues text[];
begin
  select array_agg(distinct coalesce(j ->> 'queue', 'inbox')) into v_queues from jsonb_array_elements(v_jobs) j;
  if v_queues is null then return; end if;
  if cardinality(v_queues) > 1 then
    raise exception 'the jobs of one call belong to one queue, these name %', array_to_string(v_queues, ', ')
      using errcode = '22023', hint = 'Call enqueue once for each queue.';
  end if;
  perform 1 from leasehold.queues q where q.name = v_queues[1];
  if not found then
    raise exception 'queue % does not exist', v_queues[1]
      using errcode = '42P01', hint = 'Create it first with lh.queue(name, { order }).';
  end if;
  if exists (select 1 from jsonb_array_elements(v_jobs) j where j ->> 'kind' is null) then
    raise exception 'a job has no kind' using errcode = '22023', hint = 'Give every job a kind, such as "receipt.send".';
  end if;
  return query execute format('select e.id, e.duplicate from %I.%I($1) e order by e.n', 'leasehold', v_queues[1] || '_enqueue')
    using jsonb_build_object('jobs', v_jobs)::text;
end
$$;
