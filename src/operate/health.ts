import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { ping } from "../database/statements.generated.js";
import type { Membership } from "../membership/membership.js";
import { defaults } from "../settings.js";
import type { Worker } from "../work/worker.js";

export interface HealthCheck {
  readonly name: string;
  readonly isOk: boolean;
  /** Empty when there is nothing to say. */
  readonly detail: string;
}

export interface HealthReport {
  /** Its loops turn. A process that is not live should be restarted. */
  readonly isLive: boolean;
  /** It can do its work now: the database answers, and every worker is registered, trusted, and neither its claims nor its settles always fail. */
  readonly isReady: boolean;
  readonly checks: readonly HealthCheck[];
}

/** The part of it that a probe of liveness asks for. */
export type LivenessReport = Pick<HealthReport, "isLive" | "checks">;

export interface HealthSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly membership: Membership;
  workers(): readonly Worker[];
}

/** Asks nothing of the database: to restart a process because the database is away or its pool is full helps nobody. */
export function checkLiveness({
  membership,
  workers,
}: Pick<HealthSeams, "membership" | "workers">): LivenessReport {
  const loops = loopsCheck(membership, workers());
  return Object.freeze({ isLive: loops.isOk, checks: [loops] });
}

export async function checkHealth(seams: HealthSeams): Promise<HealthReport> {
  const workers = seams.workers();
  const loops = loopsCheck(seams.membership, workers);
  const checks = [await databaseCheck(seams), loops];
  // A replaced process stops its workers, after which none is listed here; it stays unready all the same.
  if (seams.membership.isSuperseded || workers.some(({ state }) => state !== "new"))
    checks.push(memberCheck(seams.membership));
  checks.push(...workers.filter(({ state }) => state !== "new").map(workerCheck));
  return Object.freeze({ isLive: loops.isOk, isReady: checks.every(({ isOk }) => isOk), checks });
}

async function databaseCheck({ database, bind }: HealthSeams): Promise<HealthCheck> {
  const name = "database";
  try {
    const query = { ...bind(ping, {}), timeoutMs: defaults.healthTimeoutMs, triesMax: 1 };
    const [row] = await database.run(query);
    return row?.is_replica === true
      ? { name, isOk: false, detail: "it is a read-only replica" }
      : { name, isOk: true, detail: "" };
  } catch (error) {
    return { name, isOk: false, detail: String(error) };
  }
}

/** A pass may take as long as a statement and its retries may; a loop that is later than that hangs. */
function loopsCheck(membership: Membership, workers: readonly Worker[]): HealthCheck {
  const lateMs = Math.max(membership.lateMs(), ...workers.map((worker) => worker.lateMs()));
  const isOk = lateMs < defaults.healthLateMs;
  return { name: "loops", isOk, detail: isOk ? "" : `a loop is ${Math.round(lateMs / 1_000)} s late` };
}

function memberCheck(membership: Membership): HealthCheck {
  const name = "registry";
  if (membership.isSuperseded) return { name, isOk: false, detail: "another process has its worker id" };
  const isOk = membership.trust.isOpen();
  return { name, isOk, detail: isOk ? "" : "no heartbeat was accepted for too long" };
}

function workerCheck({ queueName, state, failing }: Worker): HealthCheck {
  const name = `worker ${queueName}`;
  if (failing !== null)
    return { name, isOk: false, detail: `every ${failing.what} fails: ${failing.reason}` };
  return { name, isOk: state === "working", detail: state === "working" ? "" : `it is ${state}` };
}
