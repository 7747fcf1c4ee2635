-- title: Restart loops
-- when: Workers come and go, buckets move all the time, or jobs collect crashes.
-- read: Hosts on which at least three worker processes have ended, most first. A registry row stays for a day after its worker's death, so this covers about a day; an id that lives on
--   counts all the processes that had it. A rolling deploy ends processes too: then lost is 0 and shortest_life_s is long.
-- column hostname: the host or container
-- column ended: worker processes that have ended
-- column lost: registered workers that are dead and did not leave in good order
-- column alive: workers that are alive now
-- column worker_ids: how many ids they have used
-- column shortest_life_s: the shortest life among those that are gone, from start to last heartbeat
-- column last_start_at: when a process last started
-- column last_lost_at: when a loss was last noticed
-- column latest_worker: the id that started last
-- next: `leasehold history --kind worker:joined --kind worker:dead` (`lh.history()`) has each join and loss in order. Lives of seconds and a high lost: the process crashes. Read its log, its exit code and its memory limit. Then look for a poison job: dead-by-kind with crashes above 0; lower `maxCrashes` of that
--   kind to stop it sooner. Lives just above the TTL: the process is too busy to send heartbeats.
-- index: none; leasehold.workers has one row for each worker of the last day.
select coalesce(g.hostname, '(none)') as hostname, g.ended, g.lost, g.alive, g.worker_ids, g.shortest_life_s, g.last_start_at, g.last_lost_at, g.latest_worker
from (
  select w.hostname, (sum(w.starts) - count(*) filter (where w.status <> 'dead'))::int as ended,
         count(*) filter (where w.status = 'dead' and w.left_at is null)::int as lost, count(*) filter (where w.status <> 'dead')::int as alive, count(*)::int as worker_ids,
         min(extract(epoch from w.last_seen_at - w.started_at)) filter (where w.status = 'dead')::int as shortest_life_s, max(w.started_at) as last_start_at,
         max(greatest(w.lost_at, case when w.status = 'dead' and w.left_at is null then w.last_seen_at end)) as last_lost_at,
         (array_agg(w.id order by w.started_at desc))[1] as latest_worker
  from leasehold.workers w group by w.hostname) g
where g.ended >= 3
order by g.lost desc, g.ended desc, g.hostname limit 50;
