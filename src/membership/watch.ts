import type { Binder } from "../database/bind.js";
import { watchWorkers } from "../database/statements.generated.js";
import type { Events } from "../events.js";
import type { Activity } from "../runtime/activity.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import type { DirectSession } from "./direct-session.js";
import type { Roster } from "./roster.js";

export interface WatchSeams {
  readonly bind: Binder;
  readonly clock: Clock;
  readonly events: Events;
}

/**
 * Looks after the sessions of all workers, if elected: the election is a lock on one's own session, so it ends with it. Everybody else tries to be
 * elected now and then, one deputy often, so that a watcher that died is replaced before its death is due to be noticed. Each try is also
 * the probe of one's own session.
 */
export class Watch implements Activity {
  readonly name = "watch";
  readonly #seams: WatchSeams;
  readonly #workerId: string;
  readonly #session: DirectSession;
  readonly #roster: Roster;
  #electedOn = 0;

  constructor(seams: WatchSeams, workerId: string, parts: { session: DirectSession; roster: Roster }) {
    this.#seams = seams;
    this.#workerId = workerId;
    this.#session = parts.session;
    this.#roster = parts.roster;
  }

  async run(): Promise<number> {
    const { bind, clock, events } = this.#seams;
    const session = this.#session;
    if (session.state !== "open") return Number.POSITIVE_INFINITY;
    const { opened } = session;
    const [look] = await session.ask(
      bind(watchWorkers, {
        workerId: this.#workerId,
        isWatcher: this.#electedOn === opened,
        graceMs: defaults.sessionGraceMs,
        now: clock.databaseNow(),
      }),
    );
    if (look === undefined) return Number.POSITIVE_INFINITY;
    if (!look.is_watcher) return this.#isDeputy() ? defaults.watchDeputyMs : defaults.watchOtherMs;
    this.#electedOn = opened;
    if (look.marked.length > 0) {
      events.emit("workers:lost", { watcherId: this.#workerId, workerIds: look.marked });
    }
    return Math.min(defaults.watchMs, Math.max(0, look.next_ms ?? defaults.watchMs));
  }

  /** The first of those that could be elected and are not. */
  #isDeputy(): boolean {
    const first = this.#roster.members.find((member) => member.hasSession && !member.isWatcher);
    return first === undefined || first.id === this.#workerId;
  }
}
