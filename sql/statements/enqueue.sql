-- Enqueue. The request is one JSON text, described in migration 0004.

-- name: enqueue_jobs
-- Locks: strict slots in ascending order, dedupe rows in the order of their keys; inserts into inbox_pkey and inbox_line.
-- row: n int, id uuid, duplicate boolean
select n, id, duplicate from leasehold.inbox_enqueue(:request::text) order by n;
