import { defaults } from "../settings.js";
import type { Facts } from "./facts.js";
import { type Finding, finding } from "./finding.js";
import { duration } from "./words.js";

/** What the workers do, or can't do. */
export function fleetFindings(facts: Facts): readonly Finding[] {
  return [
    ...failing(facts),
    ...restartLoops(facts),
    ...deaths(facts),
    ...notifications(facts),
    ...versions(facts),
  ];
}

function failing({ now, workers }: Facts): readonly Finding[] {
  return workers
    .filter(({ state }) => state === "alive")
    .flatMap(({ id, failing: queues }) =>
      Object.entries(queues).map(([queue, { what, reason, since }]) =>
        finding({
          code: "worker_failing",
          severity: "critical",
          queue,
          words: `Every ${what} of ${id} on ${queue} has failed for ${duration(now.getTime() - since.getTime())}: ${reason}`,
          advice:
            "Fix what the error names (often a missing right: run lh.grant()), or stop the process. Others own its buckets meanwhile.",
          evidence: { workerId: id, what, reason, since },
        }),
      ),
    );
}

/** A process that is started again and again. One that registers again after a lost session is the same process. */
function restartLoops({ now, history }: Facts): readonly Finding[] {
  const sinceMs = now.getTime() - defaults.loopingMs;
  const starts = new Map<string, Date[]>();
  for (const { kind, workerId, at, detail } of history) {
    if (kind !== "worker:joined" || workerId === null || detail.why !== "it starts") continue;
    if (at.getTime() >= sinceMs) starts.set(workerId, [...(starts.get(workerId) ?? []), at]);
  }
  return [...starts]
    .filter(([, times]) => times.length >= defaults.loopingStarts)
    .map(([workerId, times]) =>
      finding({
        code: "restart_loop",
        severity: "critical",
        words: `${workerId} was started ${times.length} times in ${duration(defaults.loopingMs)}.`,
        advice: "Read the last lines of its log: it crashes soon after each start.",
        evidence: { workerId, starts: times.length, lastAt: times[0] },
      }),
    );
}

function deaths({ now, history }: Facts): readonly Finding[] {
  const dead = history.filter(({ kind }) => kind === "worker:dead");
  const [last] = dead;
  if (last === undefined) return [];
  const ids = [...new Set(dead.map(({ workerId }) => workerId))];
  return [
    finding({
      code: "worker_died",
      severity: "warning",
      words: `${ids.length} worker(s) died in the last ${duration(defaults.doctorHistoryMs)}, the last ${duration(now.getTime() - last.at.getTime())} ago: ${ids.slice(0, 5).join(", ")}.`,
      advice:
        "Its jobs were taken over. Find out why the process ended: out of memory, a crash, a machine that was taken away.",
      evidence: { workerIds: ids, lastAt: last.at, rule: last.detail.rule },
    }),
  ];
}

/** A worker without a session of its own can't be notified, and its death is noticed by its TTL only. */
function notifications({ now, workers }: Facts): readonly Finding[] {
  const settledMs = 2 * defaults.sessionTimeoutMs;
  const deaf = workers.filter(
    ({ state, hasSession, startedAt }) =>
      state === "alive" && !hasSession && now.getTime() - startedAt.getTime() > settledMs,
  );
  if (deaf.length === 0) return [];
  const ids = deaf.map(({ id }) => id);
  return [
    finding({
      code: "notifications_off",
      severity: "warning",
      words: `Notifications do not reach ${ids.length} worker(s), which poll instead: ${ids.slice(0, 5).join(", ")}.`,
      advice:
        "A pooler in transaction mode stands in between: give connect({ directUrl }) a way to the server itself.",
      evidence: { workerIds: ids },
    }),
  ];
}

function versions({ workers }: Facts): readonly Finding[] {
  const alive = workers.filter(({ state }) => state === "alive");
  const found = [...new Set(alive.flatMap(({ load }) => load.version ?? []))].sort();
  if (found.length < 2) return [];
  return [
    finding({
      code: "mixed_versions",
      severity: "info",
      words: `Workers run ${found.length} versions of the library: ${found.join(", ")}.`,
      advice: "Fine during a rolling deploy. If it stays so, find the processes that were left behind.",
      evidence: { versions: found },
    }),
  ];
}
