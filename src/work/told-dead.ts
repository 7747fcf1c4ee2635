import type { ClaimRow } from "../database/rows.js";
import type { Events } from "../events.js";

/** True for a row of a claim's answer that is no job: it tells of one that the claim has taken over and dead-lettered (migration 0003). */
export function isToldDead(row: ClaimRow): boolean {
  return row.id === null && row.kind === "dead";
}

export function announceToldDead(events: Events, queue: string, rows: readonly ClaimRow[]): void {
  for (const row of rows) {
    if (!isToldDead(row)) continue;
    events.emit("job:dead_lettered", {
      queue,
      id: row.partition_key ?? "",
      kind: row.idempotency_key,
      attempt: row.attempts,
      error: row.last_error ?? "",
    });
  }
}
