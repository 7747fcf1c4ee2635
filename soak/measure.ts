import { readFileSync } from "node:fs";
import type pg from "pg";
import type { ProcessFigures } from "./settings.js";

/** Mean over the processes of a kind; sizes in MB. */
export function processFigures(
  workers: readonly ProcessFigures[],
  producer: ProcessFigures | undefined,
): Record<string, number> {
  const waits = workers.flatMap((worker) => worker.waitsMs);
  const claims = workers.flatMap((worker) => worker.claimsMs);
  const mean = (of: (worker: ProcessFigures) => number): number =>
    workers.reduce((sum, worker) => sum + of(worker), 0) / Math.max(1, workers.length);
  return {
    "worker RSS, MB": mean((worker) => worker.rssMb),
    "worker heap, MB": mean((worker) => worker.heapMb),
    "producer RSS, MB": producer?.rssMb ?? 0,
    "start p50, ms": percentile(waits, 0.5),
    "start p99, ms": percentile(waits, 0.99),
    "claim p50, ms": percentile(claims, 0.5),
    "claim p99, ms": percentile(claims, 0.99),
    "jobs done": workers.reduce((sum, worker) => sum + worker.done, 0),
    "failed calls": workers.reduce((sum, worker) => sum + worker.failed, producer?.failed ?? 0),
  };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

const sizes = `select
  pg_table_size('soak.inbox') / 1048576.0 as "queue table, MB",
  pg_indexes_size('soak.inbox') / 1048576.0 as "queue indexes, MB",
  (select sum(pg_total_relation_size(relid)) from pg_partition_tree('soak.inbox_archive') where isleaf) / 1048576.0 as "archive, MB",
  (select count(*) from pg_partition_tree('soak.inbox_archive') where isleaf)::int as "archive days",
  (select count(*) from soak.inbox where in_line)::int as "jobs in line",
  (select count(*) from soak.inbox where status = 'dead_letter')::int as "dead letters in the queue",
  (select sum(n_dead_tup) from pg_stat_user_tables where schemaname = 'soak')::int as "dead tuples",
  (select sum(pg_total_relation_size(c.oid)) from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind = 'r') / 1048576.0 as "catalog, MB",
  pg_total_relation_size('soak.dedupe') / 1048576.0 as "dedupe, MB",
  pg_total_relation_size('soak.samples') / 1048576.0 as "samples, MB",
  pg_total_relation_size('soak.workers') / 1048576.0 as "workers table, MB"`;

export async function databaseFigures(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<Record<string, string | number>>(sizes);
  const figures = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)] as const);
  const backends = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
  );
  const memory = backends.rows.map(({ pid }) => ownMemoryMb(pid));
  return {
    ...Object.fromEntries(figures),
    backends: memory.length,
    "backend memory of its own, MB": memory.reduce((sum, mb) => sum + mb, 0) / Math.max(1, memory.length),
  };
}

/** Without what it shares with others; 0 where the system does not tell. */
function ownMemoryMb(pid: number): number {
  try {
    const line = readFileSync(`/proc/${pid}/status`, "utf8").match(/^RssAnon:\s+(\d+) kB/m);
    return Number(line?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}
