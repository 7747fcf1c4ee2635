import { DatabaseRefusedError, DatabaseUnavailableError, UnknownQueueError } from "../errors.js";
import type { Events } from "../events.js";
import type { Failing } from "../membership/worker-record.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import { storableText } from "./json.js";

export interface HealthSeams {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

export interface HealthParts {
  readonly workerId: string;
  readonly queue: string;
  /** True when another worker may own buckets of the queue. */
  hasOthers(): boolean;
  /** What fails now; null when nothing does any more. */
  onChange(failing: Failing | null): void;
}

export type SettleSort = "complete" | "other";

/** A lost race, a deadlock, a lock that somebody holds: they pass by themselves. */
const passingStates: ReadonlySet<string> = new Set(["40001", "40P01", "55P03"]);

/**
 * Whether this worker can do its work on a queue. `well` becomes `failing` after a few claims, or settles of a few rows, have failed in a row for a reason that is not the database's absence;
 * then others own its buckets. `failing` becomes `well` with the first claim, or settle, that works. Probes make one, after waits that grow while somebody else does the work;
 * while nobody does they do not grow, because then the fault may be the database's and end for all at once.
 */
export class Health {
  readonly #seams: HealthSeams;
  readonly #parts: HealthParts;
  #failing: Failing | null = null;
  #claimFailures = 0;
  /** Leases of rows that could not be settled since a settle of the same sort last worked. Completions and all others are different statements. */
  readonly #unsettled = { complete: new Set<string>(), other: new Set<string>() };
  #failingSort: SettleSort | null = null;
  #probeMs: number = defaults.failingProbeMs;
  #probeAtMs = 0;
  #recoveredAtMs = Number.NEGATIVE_INFINITY;
  #workedAtMs: number;

  constructor(seams: HealthSeams, parts: HealthParts) {
    this.#seams = seams;
    this.#parts = parts;
    this.#workedAtMs = seams.clock.monotonicMs();
  }

  get failing(): Failing | null {
    return this.#failing;
  }

  /** How long ago a claim was answered, or a row left. */
  idleMs(): number {
    return this.#seams.clock.monotonicMs() - this.#workedAtMs;
  }

  noteLeft(): void {
    this.#workedAtMs = this.#seams.clock.monotonicMs();
  }

  claimed(): void {
    this.#workedAtMs = this.#seams.clock.monotonicMs();
    this.#claimFailures = 0;
    if (this.#failing?.what === "claim") this.#recover();
  }

  claimFailed(error: unknown): void {
    if (!isOurs(error)) return;
    this.#claimFailures++;
    if (this.#claimFailures >= defaults.claimFailuresMax) this.#fail("claim", this.#claimFailures, error);
  }

  settled(sort: SettleSort): void {
    this.#unsettled[sort].clear();
    if (this.#failingSort === sort) this.#recover();
  }

  /** The row under this lease could not be settled. */
  settleFailed(sort: SettleSort, lease: string, error: unknown): void {
    if (!isOurs(error) || this.#failing !== null) return;
    const { size } = this.#unsettled[sort].add(lease);
    if (size < defaults.settleFailuresMax) return;
    this.#failingSort = sort;
    this.#fail("settle", size, error);
  }

  /** How long until the next probe is due. */
  probeInMs(): number {
    return Math.max(0, this.#probeAtMs - this.#seams.clock.monotonicMs());
  }

  /** A probe is made now; the next one comes later. */
  probing(): void {
    const grown = Math.min(this.#probeMs * 2, defaults.failingProbeMsMax);
    this.#probeMs = this.#parts.hasOthers() ? grown : defaults.failingProbeMs;
    this.#setProbe();
  }

  #fail(what: Failing["what"], failures: number, error: unknown): void {
    if (this.#failing !== null) return;
    const { clock, events } = this.#seams;
    const { workerId, queue } = this.#parts;
    // One that fails again soon goes on with the longer waits.
    if (clock.monotonicMs() - this.#recoveredAtMs > defaults.failingProbeMsMax)
      this.#probeMs = defaults.failingProbeMs;
    const failing = { what, reason: storableText(String(error), defaults.failingReasonMax) };
    this.#failing = failing;
    this.#setProbe();
    events.emit("worker:failing", { workerId, queue, what, failures, error });
    this.#parts.onChange(failing);
  }

  #recover(): void {
    const { clock, events } = this.#seams;
    const { workerId, queue } = this.#parts;
    if (this.#failing === null) return;
    const { what } = this.#failing;
    this.#failing = null;
    this.#failingSort = null;
    this.#claimFailures = 0;
    for (const leases of Object.values(this.#unsettled)) leases.clear();
    this.#recoveredAtMs = clock.monotonicMs();
    events.emit("worker:recovered", { workerId, queue, what });
    this.#parts.onChange(null);
  }

  #setProbe(): void {
    const { clock, random } = this.#seams;
    const jittered = this.#probeMs * (1 - defaults.pollJitter * random.fraction());
    this.#probeAtMs = clock.monotonicMs() + jittered;
  }
}

/** Not the absence of the database or the queue, and not what passes by itself. */
function isOurs(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError || error instanceof UnknownQueueError) return false;
  return !(error instanceof DatabaseRefusedError && passingStates.has(error.sqlState));
}
