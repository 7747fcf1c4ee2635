import type { Fleet, Told } from "./fleet.js";

/** What a history of starts and ends may not show, and figures drawn from it. Pure. */
export interface Findings {
  /** A job started before an earlier one of its key had ended (successfully, anywhere). */
  readonly orderBreaks: readonly string[];
  /** Two attempts of one key at the same time, both on live processes. */
  readonly overlaps: readonly string[];
  /** A later attempt of a key under a token that is not higher. */
  readonly fallingTokens: readonly string[];
  /** Jobs that started again although the worker of the earlier attempt was not killed. */
  readonly repeated: readonly string[];
}

interface Attempt {
  readonly worker: string;
  readonly n: number;
  readonly token: bigint;
  readonly from: number;
  to: number;
  wasEnded: boolean;
}

/** `done` holds `key n` of jobs whose completion is known from the database, though their worker was killed before it could tell. */
export function findingsOf(fleet: Fleet, done: ReadonlySet<string> = new Set()): Findings {
  const findings: Mutable = { orderBreaks: [], overlaps: [], fallingTokens: [], repeated: [] };
  const killed = new Set(fleet.processes.filter((one) => one.wasKilled).map((one) => one.id));
  for (const [key, attempts] of attemptsOf(fleet)) {
    for (const attempt of attempts) {
      if (killed.has(attempt.worker) && done.has(`${key} ${attempt.n}`)) attempt.wasEnded = true;
    }
    inspect(key, attempts, { findings, killed });
  }
  return findings;
}

type Mutable = { -readonly [K in keyof Findings]: string[] };

function inspect(
  key: string,
  attempts: readonly Attempt[],
  to: { readonly findings: Mutable; readonly killed: ReadonlySet<string> },
): void {
  const { findings, killed } = to;
  const ended = new Set<number>();
  const before = new Map<number, Attempt>();
  let firstOpen = 0;
  let last: Attempt | null = null;
  for (const attempt of attempts) {
    const at = `${key} #${attempt.n} (${attempt.token}) on ${attempt.worker}`;
    while (ended.has(firstOpen)) firstOpen++;
    if (attempt.n > firstOpen) findings.orderBreaks.push(`${at} before #${firstOpen}`);
    if (last !== null && attempt.from < last.to)
      findings.overlaps.push(`${at} during #${last.n} (${last.token}) on ${last.worker}`);
    if (last !== null && attempt.token < last.token) findings.fallingTokens.push(at);
    const earlier = before.get(attempt.n);
    if (earlier !== undefined && !killed.has(earlier.worker))
      findings.repeated.push(`${at} after ${earlier.worker}`);
    before.set(attempt.n, attempt);
    if (attempt.wasEnded) ended.add(attempt.n);
    last = attempt;
  }
}

/** Attempts by key, in the order of their starts. One of a killed process ends with it. */
function attemptsOf(fleet: Fleet): ReadonlyMap<string, readonly Attempt[]> {
  const endOf = new Map(fleet.processes.map((one) => [one.id, one.endedAt]));
  const open = new Map<string, Attempt>();
  const byKey = new Map<string, Attempt[]>();
  for (const told of inOrder(fleet.told)) {
    const id = `${told.key} ${told.n} ${told.token} ${told.worker}`;
    if (told.is === "start") {
      const to = endOf.get(told.worker) ?? Number.POSITIVE_INFINITY;
      const attempt: Attempt = { ...told, from: told.at, to, wasEnded: false };
      open.set(id, attempt);
      byKey.set(told.key, [...(byKey.get(told.key) ?? []), attempt]);
    } else {
      const attempt = open.get(id);
      if (attempt !== undefined) Object.assign(attempt, { to: told.at, wasEnded: true });
    }
  }
  return byKey;
}

function inOrder(told: readonly Told[]): readonly Told[] {
  return [...told].sort((a, b) => a.at - b.at);
}

/** The starts of each key, in order. */
export function startsOf(told: readonly Told[]): ReadonlyMap<string, readonly Told[]> {
  const byKey = new Map<string, Told[]>();
  for (const one of inOrder(told)) {
    if (one.is !== "start") continue;
    const list = byKey.get(one.key);
    if (list === undefined) byKey.set(one.key, [one]);
    else list.push(one);
  }
  return byKey;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * How long each start waited for nothing but a worker: since its job had committed and the one before it had ended. By key, in the order of the
 * starts. First attempts only.
 */
export function pausesOf(
  told: readonly Told[],
  committedAt: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, readonly { readonly at: number; readonly pauseMs: number }[]> {
  const endedAt = new Map<string, number>();
  const pauses = new Map<string, { at: number; pauseMs: number }[]>();
  for (const one of inOrder(told)) {
    if (one.is === "end") {
      endedAt.set(one.key, one.at);
    } else if (one.attempt === 1) {
      const since = Math.max(committedAt.get(one.key)?.[one.n] ?? 0, endedAt.get(one.key) ?? 0);
      const list = pauses.get(one.key) ?? [];
      list.push({ at: one.at, pauseMs: Math.max(0, one.at - since) });
      pauses.set(one.key, list);
    }
  }
  return pauses;
}
