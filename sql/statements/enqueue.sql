-- Enqueue. The request is one JSON text, described in migration 0004.

-- name: enqueue_jobs
-- Locks: strict slots in ascending order, dedupe rows in the order of their keys; inserts into inbox_pkey and inbox_line.
-- Also on a user's transaction, on any driver and with any parsers: only text comes back.
-- row: id text, duplicate text
select id::text as id, duplicate::text as duplicate from leasehold.inbox_enqueue(:request::text) order by n;
