import { type Binder, binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { auditOrder, auditRows, listQueues } from "../database/statements.generated.js";
import type { Clock } from "../seams/clock.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import { unclaimed } from "./unclaimed.js";
import { unlessDropped } from "./unless-dropped.js";

export interface AuditSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly schema: string;
}

/** The rules, and what it means when one is broken. */
const meanings = {
  holder: "A row in process has a holder and a lease, and no other row has.",
  attempts: "No row has more attempts than it may have.",
  finished: "A dead letter that lets its key go on has finished, and nothing else in the queue has.",
  token: "No row has a token that was not drawn yet: a restored or promoted server would hand it out again.",
  expired: "A lease that has run out is taken over while a worker is alive.",
  "dead holder": "What a dead worker held is taken over while another is alive.",
  "two lives": "A finished job has left the queue.",
  "two holders": "One worker at a time holds rows of a key.",
  unclaimed: "A row that is due is claimed within a minute while the owner of its bucket has room.",
  overtaken: "In a strict queue nothing is in process while an earlier row of its key waits.",
} as const;

export type AuditRule = keyof typeof meanings;

export interface Breach {
  readonly queue: string;
  readonly rule: AuditRule;
  /** The rule in words. */
  readonly meaning: string;
  /** How many rows break it; `rows` are the first of them. */
  readonly count: number;
  readonly rows: readonly BreachRow[];
}

export interface BreachRow {
  readonly id: string;
  readonly partitionKey: string;
  /** In decimal digits. */
  readonly seq: string;
  readonly detail: string;
}

export interface AuditReport {
  readonly queues: readonly string[];
  /** Empty when every promise holds. */
  readonly breaches: readonly Breach[];
  readonly tookMs: number;
}

/** Asks the rows of every queue whether the promises hold. Changes nothing and locks nothing. */
export async function auditQueues(seams: AuditSeams): Promise<AuditReport> {
  const { database, clock, schema } = seams;
  const startedAtMs = clock.monotonicMs();
  const queues = await database.run(binder({ schema, queue: defaults.queue })(listQueues, {}));
  const breaches: Breach[] = [];
  for (const { name, order } of queues) {
    const bind = binder({ schema, queue: name });
    const found = await unlessDropped(rowsOf(seams, bind, order));
    const left = found === null ? null : await unlessDropped(unclaimed({ ...seams, bind }, name));
    if (found !== null && left !== null) breaches.push(...grouped(name, [...found, ...left]));
  }
  return {
    queues: queues.map((queue) => queue.name),
    breaches,
    tookMs: clock.monotonicMs() - startedAtMs,
  };
}

interface Found {
  readonly rule: string;
  readonly id: string;
  readonly partition_key: string;
  readonly seq: string;
  readonly detail: string;
  readonly total: string;
}

async function rowsOf(
  { database, clock }: AuditSeams,
  bind: Binder,
  order: string,
): Promise<readonly Found[]> {
  const limit = defaults.auditRowsMax;
  // It reads much: a second try beside a first one that is still at it would help nobody.
  const once = <R>(query: Query<R>): Query<R> => ({ ...query, triesMax: 1 });
  const given = { limit, lateMs: defaults.auditLateMs, now: clock.databaseNow() };
  const rows = await database.run(once(bind(auditRows, given)));
  return order === "key" ? [...rows, ...(await database.run(once(bind(auditOrder, { limit }))))] : rows;
}

function grouped(queue: string, found: readonly Found[]): readonly Breach[] {
  const byRule = new Map<string, { count: number; rows: BreachRow[] }>();
  for (const { rule, id, partition_key: partitionKey, seq, detail, total } of found) {
    const breach = byRule.get(rule) ?? { count: Number(total), rows: [] };
    byRule.set(rule, breach);
    breach.rows.push({ id, partitionKey, seq, detail });
  }
  return [...byRule].map(([rule, { count, rows }]) => {
    const known = rule as AuditRule;
    return { queue, rule: known, meaning: meanings[known], count, rows };
  });
}
