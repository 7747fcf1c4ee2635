import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { listMembers } from "../database/statements.generated.js";
import type { Activity } from "../runtime/activity.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import { defaults } from "../settings.js";
import type { RingMember } from "./ring.js";

export interface Member extends RingMember {
  readonly queues: readonly string[];
  readonly hasSession: boolean;
  readonly isWatcher: boolean;
  /** Since when it has been alive without a break, by this process's monotonic clock. */
  readonly aliveSinceMs: number;
  readonly generation: bigint;
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
  readonly #listeners = new Set<() => void>();
  #members: readonly Member[] = [];
  #fingerprint = "";

  constructor(seams: RosterSeams) {
    this.#seams = seams;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  workersOf(queue: string): readonly Member[] {
    return this.#members.filter((member) => member.queues.includes(queue));
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
          generation: BigInt(row.generation),
        }),
      ),
    );
    const fingerprint = JSON.stringify(rows.map((row) => [row.id, row.region, row.queues]));
    if (fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      for (const listener of this.#listeners) listener();
    }
    const refreshMs = defaults.ringRefreshMs * (1 - defaults.pollJitter * random.fraction());
    return rows.reduce((soonest, row) => Math.min(soonest, row.expires_in_ms + expiryMarginMs), refreshMs);
  }
}
