import type { Tx } from "../seams/database.js";
import { type Names, withNames } from "./names.js";

/** What takes a table lock in a file, also where it finds nothing to do. */
const lockers =
  /(?:alter table|create (?:unique )?index if not exists \w+ on|create or replace trigger \w+ [\w ]+ on) (leasehold\.\w+)/g;

/**
 * Takes every table lock that a file will need, before anything is changed. The waits together last at most `limitMs`: with a limit for each, a transaction
 * that waits for its third table has kept everybody from the first two all the while. Raises 55P03 (lock_not_available) when the time is up.
 *
 * First a lock that stops no enqueue, claim or settle. An autovacuum gives way only to somebody who has waited for `deadlock_timeout`, which is longer than anybody
 * may be kept waiting; a vacuum of millions of rows would otherwise outlast all tries.
 */
export async function lockTables(tx: Tx, sql: string, names: Names, limitMs: number): Promise<void> {
  const tables = [...new Set([...sql.matchAll(lockers)].map(([, table]) => withNames(table ?? "", names)))];
  if (tables.length === 0) return;
  const list = tables.map((table) => `'${table.replaceAll("'", "''")}'`).join(", ");
  await tx.query(`do $lock$
declare
  v_mode text; v_table regclass; v_until timestamptz; v_left int;
  v_before text := current_setting('lock_timeout');
begin
  foreach v_mode in array array['share update exclusive', 'access exclusive'] loop
    v_until := clock_timestamp() + case v_mode when 'access exclusive' then interval '${limitMs} ms'
      else current_setting('deadlock_timeout')::interval + interval '500 ms' end;
    for v_table in
      select coalesce(p.relid, c.oid) from unnest(array[${list}]) with ordinality t(name, n)
      join pg_class c on c.oid = to_regclass(t.name) and c.relkind in ('r', 'p')
      left join lateral pg_partition_tree(c.oid) p on true
      order by t.n, p.level, p.relid
    loop
      v_left := extract(epoch from v_until - clock_timestamp()) * 1000;
      perform set_config('lock_timeout', greatest(v_left, 1) || 'ms', true);
      execute format('lock table only %s in %s mode', v_table, v_mode);
    end loop;
  end loop;
  perform set_config('lock_timeout', v_before, true);
end
$lock$`);
}
