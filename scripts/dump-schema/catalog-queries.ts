/** One query per kind; each takes the schema's name and gives `definition`, one statement a row, in a fixed order. */

/** The archive has a partition per day; which days exist depends on the day of the dump. */
export const NOT_A_DAY = "relname !~ '_a[0-9]{8}$'";

const SEQUENCES = `
select format('create sequence %I.%I', $1::text, c.relname)
    || case when s.seqtypid <> 'bigint'::regtype then ' as ' || format_type(s.seqtypid, null) else '' end
    || case when s.seqincrement <> 1 then ' increment by ' || s.seqincrement else '' end
    || case when s.seqmin <> 1 then ' minvalue ' || s.seqmin else '' end
    || case when s.seqtypid = 'bigint'::regtype and s.seqmax <> 9223372036854775807
         or s.seqtypid <> 'bigint'::regtype then ' maxvalue ' || s.seqmax else '' end
    || case when s.seqstart <> 1 then ' start with ' || s.seqstart else '' end
    || case when s.seqcache <> 1 then ' cache ' || s.seqcache else '' end
    || case when s.seqcycle then ' cycle;' else ';' end as definition
from pg_sequence s join pg_class c on c.oid = s.seqrelid
where c.relnamespace = (select oid from pg_namespace where nspname = $1::text)
  and not exists (select from pg_depend d
    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')
order by c.relname collate "C"`;

const SEQUENCE_OWNERS = `
select format('alter sequence %I.%I owned by %I.%I.%I;', $1::text, c.relname, $1::text, t.relname, a.attname) as definition
from pg_depend d
  join pg_class c on c.oid = d.objid and c.relkind = 'S'
  join pg_class t on t.oid = d.refobjid
  join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a'
  and c.relnamespace = (select oid from pg_namespace where nspname = $1::text)
order by c.relname collate "C"`;

/** Indexes of constraints are written with their table, those of partitions follow from their parent's. */
const INDEXES = `
select pg_get_indexdef(c.oid) || ';' as definition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
where c.relnamespace = (select oid from pg_namespace where nspname = $1::text)
  and not c.relispartition and t.${NOT_A_DAY}
  and not exists (select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u', 'x'))
order by t.relname collate "C", c.relname collate "C"`;

const VIEWS = `
select format('create view %I.%I%s as%s%s', $1::text, c.relname,
    coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', ''), chr(10), pg_get_viewdef(c.oid)) as definition
from pg_class c
where c.relnamespace = (select oid from pg_namespace where nspname = $1::text) and c.relkind = 'v'
order by c.relname collate "C"`;

const FUNCTIONS = `
select rtrim(pg_get_functiondef(p.oid), chr(10)) || ';' as definition
from pg_proc p
where p.pronamespace = (select oid from pg_namespace where nspname = $1::text) and p.prokind in ('f', 'p')
order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"`;

const TRIGGERS = `
select pg_get_triggerdef(g.oid) || ';' as definition
from pg_trigger g join pg_class t on t.oid = g.tgrelid
where t.relnamespace = (select oid from pg_namespace where nspname = $1::text)
  and not g.tgisinternal and g.tgparentid = 0 and t.${NOT_A_DAY}
order by t.relname collate "C", g.tgname collate "C"`;

/** Kinds without a query above. A table's own row type, its array type and the view's rule are part of their table. */
export const UNKNOWN: string = `
select k.kind || ' ' || k.name as definition
from (
  select n.oid as namespace, n.nspname from pg_namespace n where n.nspname = $1::text
) s cross join lateral (
  select 'type', t.typname from pg_type t where t.typnamespace = s.namespace and t.typtype in ('e', 'd', 'r')
  union all
  select 'type', c.relname from pg_class c where c.relnamespace = s.namespace and c.relkind = 'c'
  union all
  select 'relation', c.relname from pg_class c where c.relnamespace = s.namespace and c.relkind in ('m', 'f')
  union all
  select 'aggregate', p.proname from pg_proc p where p.pronamespace = s.namespace and p.prokind in ('a', 'w')
  union all
  select 'rule', r.rulename from pg_rules r where r.schemaname = s.nspname
  union all
  select 'policy', p.policyname from pg_policies p where p.schemaname = s.nspname
  union all
  select 'statistics', e.stxname from pg_statistic_ext e where e.stxnamespace = s.namespace
) k (kind, name)
order by 1`;

/** In the order of the dump, except that the tables stand after the sequences. */
export const QUERIES: {
  readonly sequences: string;
  readonly sequenceOwners: string;
  readonly indexes: string;
  readonly views: string;
  readonly functions: string;
  readonly triggers: string;
} = {
  sequences: SEQUENCES,
  sequenceOwners: SEQUENCE_OWNERS,
  indexes: INDEXES,
  views: VIEWS,
  functions: FUNCTIONS,
  triggers: TRIGGERS,
};
