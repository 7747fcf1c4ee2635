import { defaults } from "../settings.js";
import { type Facts, lagMs, type QueueFacts, workersOn } from "./facts.js";
import { type Finding, finding, type Severity } from "./finding.js";
import { duration } from "./words.js";

/** What a queue suffers from. */
export function queueFindings(facts: Facts): readonly Finding[] {
  return facts.queues.flatMap((queue) => [
    ...nobodyWorks(facts, queue),
    ...poison(facts, queue),
    ...bloat(facts, queue),
    ...waiting(facts, queue),
    ...paused(facts, queue),
    ...unhandled(queue),
    ...deadLetters(queue),
    ...expired(facts, queue),
    ...lost(queue),
    ...skew(queue),
  ]);
}

function nobodyWorks(facts: Facts, { summary, stats }: QueueFacts): readonly Finding[] {
  const { name: queue } = summary;
  if (workersOn(facts, queue).length > 0 || stats.due === 0 || summary.pausedAt !== null) return [];
  return [
    finding({
      code: "no_workers",
      severity: "critical",
      queue,
      words: `${stats.due} job(s) of ${queue} are due, and no live worker works on it.`,
      advice: "Start a worker for this queue.",
      evidence: { due: stats.due, oldestDueAt: stats.oldestDueAt },
    }),
  ];
}

function poison({ now }: Facts, { summary, poison: jobs }: QueueFacts): readonly Finding[] {
  const [worst] = jobs;
  if (worst === undefined) return [];
  const { id, kind, partition_key: partitionKey, crashes, status, last_error: lastError } = worst;
  const isDead = status === "dead_letter";
  // While the restarts that it caused still look like a loop, it is as bad as they are: it explains them.
  const isOver = isDead && now.getTime() - (worst.died_at ?? now).getTime() >= defaults.loopingMs;
  return [
    finding({
      code: "poison_job",
      severity: isOver ? "warning" : "critical",
      queue: summary.name,
      words: `Job ${id} (${kind}) has taken its worker with it ${crashes} times${isDead ? " and is a dead letter now" : ""}.`,
      advice: isDead
        ? `Look at its payload (leasehold jobs get ${summary.name} ${id}), fix the handler, then redrive it.`
        : `Look at its payload (leasehold jobs get ${summary.name} ${id}) and fix the handler; it is a dead letter after maxCrashes.`,
      evidence: { id, kind, partitionKey, crashes, status, lastError, jobs: jobs.length },
    }),
  ];
}

function bloat({ schema }: Facts, { summary, storage }: QueueFacts): readonly Finding[] {
  const [dead, live] = [Number(storage.dead_tuples), Number(storage.live_tuples)];
  if (dead < defaults.doctorDeadTuplesMin || dead < live * defaults.doctorDeadTuplesShare) return [];
  return [
    finding({
      code: "bloat",
      severity: "warning",
      queue: summary.name,
      words: `The table of ${summary.name} has ${dead} dead rows beside ${live} live ones.`,
      advice: storage.is_vacuuming
        ? "A vacuum is under way; look again when it has ended."
        : `Look for what keeps vacuum from removing them (held_snapshot), then: vacuum ${schema}.${summary.name}.`,
      evidence: {
        deadTuples: dead,
        liveTuples: live,
        tableBytes: Number(storage.table_bytes),
        lastVacuumAt: storage.last_vacuum_at,
      },
    }),
  ];
}

/**
 * Why jobs wait. Slow claims are the reason only while slots are free for jobs of many keys. Beside another reason they are an info: always when that one is a guess from
 * half-busy slots, else when half of them are slow.
 */
function waiting(facts: Facts, queue: QueueFacts): readonly Finding[] {
  const { count, p50Ms, p99Ms } = queue.stats.recent.claims;
  // A few slow claims beside many fast ones are the machine's, not the queue's.
  const isSlow =
    count >= defaults.doctorClaimsMin &&
    (p99Ms ?? 0) >= defaults.doctorClaimMs &&
    (p50Ms ?? 0) >= defaults.doctorClaimMs / 5;
  const isHalfSlow = isSlow && (p50Ms ?? 0) >= defaults.doctorClaimMs;
  const lag = lagOf(facts, queue);
  if (lag === null) return isHalfSlow ? [slowClaims(facts, queue, "info")] : [];
  const cause = causeOf(lag, queue);
  if (cause !== null) return isHalfSlow ? [cause, slowClaims(facts, queue, "info")] : [cause];
  if (!isHalfSlow && areSlotsShort(lag, queue))
    return [slowHandlers(lag, queue), ...(isSlow ? [slowClaims(facts, queue, "info")] : [])];
  return isSlow ? [slowClaims(facts, queue, "warning")] : [];
}

/** Jobs that wait for too long, and the slots that could run them. */
interface Lag {
  readonly waitedMs: number;
  readonly severity: Severity;
  readonly running: number;
  readonly slots: number;
}

function lagOf(facts: Facts, { summary, stats }: QueueFacts): Lag | null {
  const waitedMs = lagMs(facts.now, stats);
  const workers = workersOn(facts, summary.name);
  if (waitedMs < defaults.doctorLagMs || workers.length === 0 || summary.pausedAt !== null) return null;
  const severity = waitedMs >= defaults.doctorLagMsCritical ? "critical" : "warning";
  const slots = workers.reduce((sum, { load }) => sum + load.slots, 0);
  const running = workers.reduce((sum, { load }) => sum + load.running, 0);
  return { waitedMs, severity, running, slots };
}

/** The handlers, or one key, since it can run one job at a time only. Null when it is neither. */
function causeOf(lag: Lag, queue: QueueFacts): Finding | null {
  const { running, slots, severity, waitedMs } = lag;
  if (slots > 0 && running >= slots * defaults.doctorBusyShare) return slowHandlers(lag, queue);
  return hotKey(queue, severity, waitedMs);
}

/**
 * Whether jobs wait for slots although some are free: between two jobs a slot is free for a moment, and a heartbeat tells of one moment. What waits behind a job in
 * backoff or a dead letter of its key is no evidence.
 */
function areSlotsShort({ running, slots }: Lag, queue: QueueFacts): boolean {
  return running > 0 && running >= slots * defaults.doctorMostlyBusyShare && startableIn(queue) > slots;
}

function startableIn({ keys }: QueueFacts): number {
  return Number(keys[0]?.startable ?? 0);
}

function slowClaims({ server }: Facts, { summary, stats, storage }: QueueFacts, severity: Severity): Finding {
  const { count, p50Ms, p99Ms, rowsPerClaim } = stats.recent.claims;
  return finding({
    code: "slow_claims",
    severity,
    queue: summary.name,
    words: `Claims of ${summary.name} take ${Math.round(p50Ms ?? 0)} ms (half) and ${Math.round(p99Ms ?? 0)} ms (99 %).`,
    advice:
      "Look for held snapshots, dead rows, locks and a busy server, in this order; then for large payloads.",
    evidence: {
      claims: count,
      p50Ms,
      p99Ms,
      rowsPerClaim,
      deadTuples: Number(storage.dead_tuples),
      tableBytes: Number(storage.table_bytes),
      lockWaits: server.lock_waits,
    },
  });
}

function slowHandlers({ waitedMs, severity, running, slots }: Lag, queue: QueueFacts): Finding {
  const { summary, stats } = queue;
  const [slowest] = Object.entries(stats.recent.handlers).sort(
    ([, one], [, other]) => (other.p50Ms ?? 0) * other.count - (one.p50Ms ?? 0) * one.count,
  );
  return finding({
    code: "slow_handlers",
    severity,
    queue: summary.name,
    words: `Jobs of ${summary.name} have been due for ${duration(waitedMs)}, and ${running} of ${slots} slots are busy: handlers can't keep up.`,
    advice: `Add workers or raise concurrency until the CPU, the network or a partner is the limit${slowest === undefined ? "" : `; most time goes to ${slowest[0]}`}.`,
    evidence: {
      waitedMs: Math.round(waitedMs),
      due: stats.due,
      startable: startableIn(queue),
      running,
      slots,
      slowestKind: slowest?.[0] ?? null,
      p50Ms: slowest?.[1].p50Ms ?? null,
      p99Ms: slowest?.[1].p99Ms ?? null,
    },
  });
}

function hotKey({ summary, keys }: QueueFacts, severity: Severity, waitedMs: number): Finding | null {
  const [top] = keys;
  if (summary.order !== "key" || top === undefined) return null;
  const share = Number(top.rows) / Number(top.total);
  if (Number(top.rows) < defaults.doctorHotRowsMin || share < defaults.doctorHotShare) return null;
  const percent = Math.round(share * 100);
  return finding({
    code: "hot_key",
    severity,
    queue: summary.name,
    words: `${percent} % of what is due in ${summary.name} belongs to the key ${top.partition_key}, whose jobs run one after another; the oldest has been due for ${duration(waitedMs)}.`,
    advice: `Spread it with shardKey("${top.partition_key}", ...) if its order may be kept within parts, or make its handler faster.`,
    evidence: {
      partitionKey: top.partition_key,
      rows: Number(top.rows),
      total: Number(top.total),
      sampledShare: top.share,
    },
  });
}

function paused({ now }: Facts, { summary, stats }: QueueFacts): readonly Finding[] {
  if (summary.pausedAt === null || stats.due === 0) return [];
  return [
    finding({
      code: "queue_paused",
      severity: "warning",
      queue: summary.name,
      words: `${summary.name} has been paused for ${duration(now.getTime() - summary.pausedAt.getTime())}, and ${stats.due} job(s) are due.`,
      advice: `Resume it when its work may go on: leasehold queues resume ${summary.name}.`,
      evidence: { pausedAt: summary.pausedAt, due: stats.due },
    }),
  ];
}

function unhandled({ summary, unhandled: kinds }: QueueFacts): readonly Finding[] {
  if (kinds.length === 0) return [];
  const names = kinds.map(({ kind }) => kind);
  return [
    finding({
      code: "unhandled_kind",
      severity: "warning",
      queue: summary.name,
      words: `Jobs of ${names.slice(0, 5).join(", ")} are due in ${summary.name}, and no live worker has a handler for them.`,
      advice:
        "Deploy a worker with these handlers. The jobs wait and use up no attempt; with order they hold their keys.",
      evidence: { kinds: kinds.map(({ kind, rows }) => ({ kind, jobs: Number(rows) })) },
    }),
  ];
}

function deadLetters({ summary, dead }: QueueFacts): readonly Finding[] {
  const { share } = dead;
  const count = Number(dead.dead);
  if (count === 0) return [];
  const about = share < 1 ? `about ${count}` : `${count}`;
  return [
    finding({
      code: "dead_letters",
      severity: "warning",
      queue: summary.name,
      words: `${count >= 1_000 ? "1 000 or more" : about} job(s) of ${summary.name} became dead letters in the last hour, the last of kind ${dead.kind}: ${dead.last_error}`,
      advice: `Look at them by cause (leasehold dead ${summary.name}), fix the cause, then redrive the group.`,
      evidence: { count, kind: dead.kind, lastError: dead.last_error, sampledShare: share },
    }),
  ];
}

/** Claims take lost rows over; some that stay say that nobody claims from their bucket. */
function expired(facts: Facts, { summary, stats }: QueueFacts): readonly Finding[] {
  if (stats.expired === 0 || workersOn(facts, summary.name).length > 0) return [];
  return [
    finding({
      code: "expired_leases",
      severity: "warning",
      queue: summary.name,
      words: `${stats.expired} job(s) of ${summary.name} are held under leases that have ended, and no worker is alive to take them over.`,
      advice: "Start a worker for this queue.",
      evidence: { expired: stats.expired },
    }),
  ];
}

function lost({ summary, stats }: QueueFacts): readonly Finding[] {
  const { leasesLost, settlesRefused } = stats.recent;
  if (leasesLost + settlesRefused === 0) return [];
  return [
    finding({
      code: "lost_leases",
      severity: "warning",
      queue: summary.name,
      words: `Workers of ${summary.name} lost ${leasesLost} lease(s) and had ${settlesRefused} outcome(s) refused in the last minutes.`,
      advice:
        "Handlers block the event loop, or processes are frozen or evicted. Raise leaseMs, or find what blocks.",
      evidence: { leasesLost, settlesRefused },
    }),
  ];
}

/** One worker owns many more buckets than its share, in a queue where enough is due for it to matter. */
function skew({ summary, ring, stats }: QueueFacts): readonly Finding[] {
  const members = ring.members.length;
  if (members < 2 || stats.due < defaults.doctorSkewRowsMin) return [];
  const counts = new Map<string, number>();
  for (const owner of ring.owners) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  const even = ring.owners.length / members;
  if (most === undefined || most[1] < even * defaults.doctorSkewShare) return [];
  return [
    finding({
      code: "bucket_skew",
      severity: "info",
      queue: summary.name,
      words: `${most[0]} owns ${most[1]} of ${ring.owners.length} buckets of ${summary.name}; an even share is ${Math.round(even)}.`,
      advice: "Use more buckets than ten times the workers; they are fixed when a queue is created.",
      evidence: { workerId: most[0], owned: most[1], even, workers: members },
    }),
  ];
}
