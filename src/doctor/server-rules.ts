import { defaults } from "../settings.js";
import type { Facts } from "./facts.js";
import { type Finding, finding, type Severity } from "./finding.js";
import { duration } from "./words.js";

/** What the server and its other users do to the work. */
export function serverFindings(facts: Facts): readonly Finding[] {
  return [
    ...replica(facts),
    ...heldSnapshot(facts),
    ...lockWaits(facts),
    ...autovacuum(facts),
    ...connections(facts),
    ...clock(facts),
    ...commits(facts),
  ];
}

function replica({ server }: Facts): readonly Finding[] {
  if (!server.is_replica) return [];
  return [
    finding({
      code: "replica",
      severity: "critical",
      words: "This connection leads to a read-only replica.",
      advice:
        "Connect workers and producers to the primary. Nothing can be claimed or enqueued on a replica.",
      evidence: { version: server.version },
    }),
  ];
}

type Holder = Facts["holders"][number];

/** Old row versions can't be removed while somebody may still look at them, so every claim has to step over them. */
function heldSnapshot({ now, holders, queues }: Facts): readonly Finding[] {
  const dead = queues.reduce((sum, { storage }) => sum + Number(storage.dead_tuples), 0);
  return holders.flatMap((holder) => {
    const { sort, name, owner, state, since, xid_age, query } = holder;
    const heldMs = since === null ? null : now.getTime() - since.getTime();
    const severity = severityOf(holder, heldMs, dead);
    if (severity === null) return [];
    const held = heldMs === null ? "" : ` for ${duration(heldMs)}`;
    return [
      finding({
        code: "held_snapshot",
        severity,
        words: `The ${sort} ${name} has kept old row versions from being removed${held}; ${dead} are dead.`,
        advice: `${wayToEnd(holder)} Claims step over dead versions until vacuum can remove them.`,
        evidence: { sort, name, owner, state, since, xidAge: Number(xid_age), query, deadTuples: dead },
      }),
    ];
  });
}

/**
 * Null when it is no finding. How long a standby, or an active slot, has held its snapshot is not known, and all that pass their snapshots on hold one at all times: they are named when much has
 * happened since and many rows are dead.
 */
function severityOf({ sort, state, xid_age }: Holder, heldMs: number | null, dead: number): Severity | null {
  const isMuchDead = dead >= defaults.doctorDeadTuplesMin;
  if (sort === "replication slot" && state === "inactive") return isMuchDead ? "critical" : "warning";
  if (heldMs === null) return isMuchDead && Number(xid_age) >= defaults.doctorXidAgeMin ? "warning" : null;
  if (heldMs < defaults.doctorSnapshotMs) return null;
  return isMuchDead || heldMs >= defaults.doctorSnapshotMsCritical ? "critical" : "warning";
}

function wayToEnd({ sort, name, state }: Holder): string {
  switch (sort) {
    case "standby":
      return "End the long queries on it, which it passes on (hot_standby_feedback).";
    case "autovacuum worker":
      return `It is the server's own autovacuum, which collects statistics of a large table (ANALYZE): let it end. select pg_cancel_backend(${name}) ends it; autovacuum starts it again.`;
    case "prepared transaction":
      return `Commit or roll it back: rollback prepared '${name}'.`;
    case "replication slot":
      return state === "active"
        ? "End the long queries on its standby, which it passes on (hot_standby_feedback)."
        : `Bring its standby back, or drop it: select pg_drop_replication_slot('${name}').`;
    default:
      return `End its transaction, or the session: select pg_terminate_backend(${name}).`;
  }
}

function lockWaits({ server }: Facts): readonly Finding[] {
  const { lock_waits: waits, longest_lock_wait_ms: ms, lock_waiter: query, lock_holders: holders } = server;
  if (waits === 0 || ms === null || ms < defaults.doctorLockMs) return [];
  return [
    finding({
      code: "lock_waits",
      severity: "warning",
      words: `${waits} statement(s) wait for locks, the longest for ${duration(ms)}, behind pid ${holders.join(", ")}.`,
      advice:
        "Look at the sessions that hold the locks (leasehold runbook held-snapshots), and shorten their transactions.",
      evidence: { waits, longestMs: Math.round(ms), query, holders },
    }),
  ];
}

function autovacuum({ server, queues }: Facts): readonly Finding[] {
  const off = server.autovacuum === "off" || server.track_counts === "off";
  const tables = queues
    .filter(({ storage }) => !storage.autovacuum_enabled)
    .map(({ summary }) => summary.name);
  if (!off && tables.length === 0) return [];
  return [
    finding({
      code: "autovacuum_off",
      severity: "critical",
      words: off ? "Autovacuum is off on this server." : `Autovacuum is off for ${tables.join(", ")}.`,
      advice:
        "Turn it on. A queue's table has as many dead rows as finished jobs, and only vacuum removes them.",
      evidence: { autovacuum: server.autovacuum, trackCounts: server.track_counts, queues: tables },
    }),
  ];
}

function connections({ server }: Facts): readonly Finding[] {
  const { connections: used, max_connections: max } = server;
  if (used < max * defaults.doctorConnectionsShare) return [];
  return [
    finding({
      code: "connections_full",
      severity: "warning",
      words: `${used} of ${max} connections of the server are in use.`,
      advice:
        "Lower connectionsMax of the processes, or put a pooler in between and give workers a directUrl.",
      evidence: { used, max },
    }),
  ];
}

function clock({ aheadMs }: Facts): readonly Finding[] {
  if (aheadMs === null || Math.abs(aheadMs) < defaults.doctorClockMs) return [];
  return [
    finding({
      code: "clock_skew",
      severity: "info",
      words: `This machine's clock is ${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} the database's.`,
      advice:
        "Leases and due times go by the database's clock, so work is safe. Compare log times with care, and set the clock.",
      evidence: { aheadMs: Math.round(aheadMs) },
    }),
  ];
}

function commits({ server }: Facts): readonly Finding[] {
  if (server.synchronous_commit !== "off") return [];
  return [
    finding({
      code: "asynchronous_commit",
      severity: "warning",
      words: "synchronous_commit is off: an acknowledged enqueue can be lost when the server crashes.",
      advice: "Set synchronous_commit to on for the role and database that Leasehold uses.",
      evidence: { synchronousCommit: server.synchronous_commit },
    }),
  ];
}
