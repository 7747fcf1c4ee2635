-- What handlers use inside their own transaction, on any driver and with any parsers: only text comes back.

-- name: raise_fence
-- Locks the fence's row until the transaction ends, by fences_pkey. No row comes back when a higher token was seen. The time is renewed once a day.
-- nullable: now
-- row: token text
insert into leasehold.fences as f (resource, token, seen_at) values (:resource::text, :token::bigint, coalesce(:now::timestamptz, now()))
on conflict (resource) do update set token = excluded.token,
  seen_at = case when f.seen_at < excluded.seen_at - interval '1 day' then excluded.seen_at else f.seen_at end
where f.token <= excluded.token
returning f.token::text as token;

-- name: read_fence
-- Locks nothing; by fences_pkey.
-- row: token text
select token::text as token from leasehold.fences where resource = :resource::text;

-- name: handle_once
-- Locks the row it inserts; a second transaction with the same pair waits for the first, by handled_pkey.
-- nullable: now
-- row: message_id text
insert into leasehold.handled (handler, message_id, handled_at) values (:handler::text, :message_id::text, coalesce(:now::timestamptz, now()))
on conflict do nothing returning message_id;
