import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { listMembers } from "../database/statements.generated.js";
import type { Activity } from "../runtime/activity.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import type { SkilledMember } from "./second-owners.js";

export interface Member extends Omit<SkilledMember, "kinds"> {
  readonly queues: readonly string[];
  readonly hasSession: boolean;
  readonly isWatcher: boolean;
  /** Since when it has been alive without a break, by this process's monotonic clock. */
  readonly aliveSinceMs: number;
  /** How long ago it came back after a life that did not end in good order, when the roster was read; null for never. */
  readonly lostMs: number | null;
  readonly generation: bigint;
  /** How many processes have had this id; one that registers again is the same. */
  readonly starts: bigint;
  /** For each queue, the kinds that it has handlers for; all, where a queue is missing. */
  readonly kinds: Readonly<Record<string, readonly string[]>>;
}

export interface RosterSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly random: Random;
}

/** A member that is not seen is looked at again this long after its TTL. */
const expiryMarginMs = 20;

/** The live workers, as the registry last said. Read again on its timer, when a notification says so, and when the first of them would expire. */
export class Roster implements Activity {
  readonly name = "ring";
  readonly #seams: RosterSeams;
  readonly #cacheMs: number;
  readonly #listeners = new Set<() => void>();
  #members: readonly Member[] = [];
  #fingerprint = "";

  constructor(seams: RosterSeams, cacheMs: number) {
    this.#seams = seams;
    this.#cacheMs = cacheMs;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  workersOf(queue: string): readonly Member[] {
    return this.#members.filter((member) => member.queues.includes(queue));
  }

  /** The same, with the kinds that each has handlers for. */
  skilledOn(queue: string): readonly SkilledMember[] {
    return this.workersOf(queue).map(({ id, region, kinds }) => ({
      id,
      region,
      kinds: kinds[queue] ?? null,
    }));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(): Promise<number> {
    const { database, bind, clock, random } = this.#seams;
    const query = bind(listMembers, { now: clock.databaseNow() });
    const rows = await database.run({
      ...query,
      timeoutMs: defaults.ringTimeoutMs,
      triesMax: defaults.workerTriesMax,
    });
    const nowMs = clock.monotonicMs();
    this.#members = Object.freeze(
      rows.map((row) =>
        Object.freeze({
          id: row.id,
          region: row.region,
          queues: row.queues,
          hasSession: row.has_session,
          isWatcher: row.is_watcher,
          aliveSinceMs: nowMs - row.alive_ms,
          lostMs: row.lost_ms,
          generation: BigInt(row.generation),
          starts: BigInt(row.starts),
          kinds: row.kinds as Record<string, readonly string[]>,
        }),
      ),
    );
    const fingerprint = JSON.stringify(rows.map((row) => [row.id, row.region, row.queues, row.kinds]));
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      for (const listener of this.#listeners) listener();
    }
    const refreshMs = this.#cacheMs * (1 - defaults.pollJitter * random.fraction());
    return rows.reduce((soonest, row) => Math.min(soonest, row.expires_in_ms + expiryMarginMs), refreshMs);
  }
}
