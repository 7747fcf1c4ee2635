-- title: The line of one key
-- when: "Nothing happens for my order": what holds this key up?
-- read: Up to 50 unfinished rows of the key in the order in which they run, then up to 50 that are scheduled for later. The first row that is in line blocks the others. With order "none" nothing blocks,
--   and only the newest 20 000 rows of the queue are looked through, because no index has the key; scheduled ones are found among the first 5 000 of the bucket. Finished jobs are in the archive; dead letters that let their key go on are in dead-by-key.
-- parameter key: the partition key
-- column place: its place in the line; empty when it is scheduled
-- column status: pending, processing, dead_letter (parked) or scheduled
-- column id: the job
-- column kind: its kind
-- column attempts: attempts so far
-- column max_attempts: how many it has
-- column available_at: from when on it may run
-- column claimed_by: who holds it
-- column lease_end_s: seconds until its lease ends; below 0 when it has
-- column age_s: seconds since it was created
-- column last_error: what its last attempt said, its first 200 characters
-- next: Place 1 is pending with available_at ahead: it waits for its backoff; `leasehold jobs redrive inbox ID` (`queue.retry({ ids: [id] })`) makes it due now. It is dead_letter: redrive it, or `leasehold jobs discard inbox ID`, and the key goes on. It is processing: held-by
--   for its worker. It is pending and due: nobody claims from its bucket, or the queue is paused; `leasehold jobs why inbox ID` (`queue.why(id)`) says which.
-- index: inbox_line for the line (order "none": inbox_pkey backwards), inbox_scheduled for the bucket. Locks nothing.
\set key 'order:9182'
with queue as materialized (
  select q."order", leasehold.bucket_of(:'key', q.buckets) as bucket from leasehold.queues q where q.name = 'inbox'
), line as (
  (select j.id, j.seq, 1 as part from queue q cross join lateral (
     select j.id, j.seq from leasehold.inbox j
     where q."order" = 'key' and j.in_line and j.partition_bucket = q.bucket and j.partition_key = :'key' order by j.seq limit 50) j)
  union all
  (select j.id, j.seq, 1 from queue q cross join lateral (
     select j.id, j.seq, j.partition_key, j.in_line from leasehold.inbox j where q."order" = 'none' order by j.id desc limit 20000) j
   where j.in_line and j.partition_key = :'key' limit 50)
  union all
  (select j.id, j.seq, 2 from queue q cross join lateral (
     select j.id, j.seq, j.partition_key from leasehold.inbox j
     where not j.in_line and j.finished_at is null and j.partition_bucket = q.bucket order by j.available_at, j.seq limit 5000) j
   where j.partition_key = :'key' limit 50)
)
select case l.part when 1 then (row_number() over (partition by l.part order by j.seq))::int end as place, j.status, j.id, j.kind, j.attempts, j.max_attempts, j.available_at, j.claimed_by,
       extract(epoch from j.lease_expires_at - now())::int as lease_end_s, extract(epoch from now() - j.created_at)::int as age_s, left(j.last_error, 200) as last_error
from line l cross join lateral (select * from leasehold.inbox i where i.id = l.id limit 1) j
order by l.part, case l.part when 2 then j.available_at end, j.seq;
