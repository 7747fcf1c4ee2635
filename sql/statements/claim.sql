-- Claim. What it does and why it is a function: migrations 0005 to 0007.

-- name: claim_jobs
-- Locks: bucket locks (try only), then job rows with skip locked; waits for nothing. By inbox_line, then by ctid.
-- A row without an id is a bookmark: the last key that the walk saw in its bucket; or, without a bucket, what was left (migration 0006), with the token and times that all rows share.
-- Rows come in no order; defaults (no headers, no crashes, priority 0, due when created) come as null.
-- nullable: now, known_tokens, after, keys, floors, turns, generation, kinds
-- row: id uuid?, seq bigint?, kind text?, payload jsonb, headers jsonb, partition_key text?, partition_bucket int?, attempts int?, crashes int?, max_attempts int?, priority int?, claimed_ms float8?, expires_ms float8?, lease_generation bigint?, available_ms float8?, created_ms float8?, idempotency_key text?, last_error text?
select * from leasehold.inbox_claim(:worker_id::text, :buckets::int[], :after::text[], :limit::int, :run::int, :retries::int,
  :suspects::int, :lease_ms::bigint, :known_tokens::bigint[], :now::timestamptz, :keys::text[], :floors::bigint[], :turns::bigint[],
  :generation::bigint, :bytes::bigint, :kinds::text[]);

-- name: claim_woken
-- Locks: bucket locks (try only), then job rows; waits for nothing. By inbox_line, then by ctid. Migrations 0012 and 0013.
-- Answers as claim_jobs does, or with a row of the kind `look` when claim_jobs has to be asked.
-- nullable: now, turns, generation, kinds
-- row: id uuid?, seq bigint?, kind text?, payload jsonb, headers jsonb, partition_key text?, partition_bucket int?, attempts int?, crashes int?, max_attempts int?, priority int?, claimed_ms float8?, expires_ms float8?, lease_generation bigint?, available_ms float8?, created_ms float8?, idempotency_key text?, last_error text?
select * from leasehold.inbox_claim_woken(:worker_id::text, :buckets::int[], :limit::int, :run::int, :lease_ms::bigint, :now::timestamptz, :turns::bigint[],
  :generation::bigint, :bytes::bigint, :kinds::text[]);

-- name: read_payload
-- Locks nothing; by inbox_pkey. What a claim without payloads left out.
-- row: payload jsonb, headers jsonb
select j.payload, j.headers from leasehold.inbox j where j.id = :id::uuid and j.lease_generation = :token::bigint;
