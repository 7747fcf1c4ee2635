-- What happened: migration 0016.

-- name: record_history
-- Locks the rows it inserts. For what only a worker sees; other entries are written by the statements that they tell of.
-- nullable: now
insert into leasehold.history (at, kind, queue, worker_id, count, detail)
select coalesce(:now::timestamptz, clock_timestamp()), e.kind, e.queue, e.worker_id, e.count, coalesce(e.detail, '{}')
from jsonb_to_recordset(:entries::jsonb) as e(kind text, queue text, worker_id text, count bigint, detail jsonb);

-- name: list_history
-- Locks nothing; newest first, a page below the id given, by history_pkey. The table is bounded (100 000 entries of each login), so a filter that few entries match reads it once.
-- nullable: before, queue, worker_id, kinds, from_at, to_at
-- row: id bigint, at timestamptz, kind text, queue text?, worker_id text?, count bigint?, actor text, application text, detail jsonb
select h.id, h.at, h.kind, h.queue, h.worker_id, h.count, h.actor, h.application, h.detail
from leasehold.history h
where (:before::bigint is null or h.id < :before) and (:queue::text is null or h.queue = :queue) and (:worker_id::text is null or h.worker_id = :worker_id)
  and (:kinds::text[] is null or h.kind = any(:kinds)) and (:from_at::timestamptz is null or h.at >= :from_at) and (:to_at::timestamptz is null or h.at < :to_at)
order by h.id desc limit :limit::int;

-- name: find_gained_at
-- Locks nothing; newest first, by history_pkey. When a worker last told that it had gained a bucket.
-- row: at timestamptz
select h.at from leasehold.history h
where h.kind = 'buckets:moved' and h.queue = :queue::text and h.worker_id = :worker_id::text and h.detail -> 'gained' @> to_jsonb(:bucket::int)
order by h.id desc limit 1;
