-- Dead letters by kind and error. Both statements look at a bounded number of rows and say where the next call goes on; one row without a group comes back when there is none.

-- name: group_dead_letters
-- Locks nothing; dead letters that let their key go on, the last to die first, by inbox_finished. A group has the newest error as its example.
-- nullable: before, before_at_us, kind
-- row: looked bigint, last_id uuid?, last_at_us bigint?, groups bigint, fingerprint text?, kind text?, error text?, count bigint?, first_at timestamptz?, last_at timestamptz?, sample_id uuid?
with walked as materialized (
  select w.id, w.kind, w.last_error, w.finished_at as died_at, row_number() over (order by w.finished_at desc, w.id desc) as n from (
    select j.id, j.kind, j.last_error, j.finished_at
    from leasehold.inbox j where j.finished_at is not null and (j.finished_at, j.id) <
      (coalesce(timestamptz 'epoch' + :before_at_us::bigint * interval '1 microsecond', 'infinity'), coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    order by j.finished_at desc, j.id desc limit :rows::int) w
), grouped as materialized (
  select leasehold.error_fingerprint(w.last_error) as fingerprint, w.kind, count(*) as count, min(w.died_at) as first_at, max(w.died_at) as last_at, min(w.n) as n
  from walked w where :kind::text is null or w.kind = :kind
  group by 1, 2
), reach as materialized (
  select count(*) as looked, (select count(*) from grouped) as groups from walked
)
select r.looked, e.id as last_id, (extract(epoch from e.died_at) * 1000000)::bigint as last_at_us, r.groups,
       g.fingerprint, g.kind, left(w.last_error, :error_max::int) as error, g.count, g.first_at, g.last_at, w.id as sample_id
from reach r left join walked e on e.n = r.looked
left join (select t.* from grouped t order by t.count desc, t.last_at desc, t.fingerprint, t.kind limit :limit::int) g on true
left join walked w on w.n = g.n
order by g.count desc, g.last_at desc, g.fingerprint, g.kind;

-- name: group_parked_dead_letters
-- Locks nothing; all rows of the queue, newest first, by inbox_pkey: no index has those alone that are parked. When it was parked is the time of the last error.
-- nullable: before, kind
-- row: looked bigint, last_id uuid?, groups bigint, fingerprint text?, kind text?, error text?, count bigint?, first_at timestamptz?, last_at timestamptz?, sample_id uuid?
with walked as materialized (
  select w.*, row_number() over (order by w.id desc) as n from (
    select j.id, j.kind, case when j.status = 'dead_letter' then j.last_error end as last_error,
           case when j.status = 'dead_letter' then coalesce((j.errors -> -1 ->> 'at')::timestamptz, j.created_at) end as died_at
    from leasehold.inbox j where j.id <= coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and j.id is distinct from :before order by j.id desc limit :rows::int) w
), grouped as materialized (
  select leasehold.error_fingerprint(w.last_error) as fingerprint, w.kind, count(*) as count, min(w.died_at) as first_at, max(w.died_at) as last_at, min(w.n) as n
  from walked w where w.died_at is not null and (:kind::text is null or w.kind = :kind)
  group by 1, 2
), reach as materialized (
  select count(*) as looked, (select count(*) from grouped) as groups from walked
)
select r.looked, e.id as last_id, r.groups,
       g.fingerprint, g.kind, left(w.last_error, :error_max::int) as error, g.count, g.first_at, g.last_at, w.id as sample_id
from reach r left join walked e on e.n = r.looked
left join (select t.* from grouped t order by t.count desc, t.last_at desc, t.fingerprint, t.kind limit :limit::int) g on true
left join walked w on w.n = g.n
order by g.count desc, g.last_at desc, g.fingerprint, g.kind;
