import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { endDuty, takeDuty } from "../database/statements.generated.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";

export interface DutySeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly bind: Binder;
}

/**
 * A duty of the whole fleet, done by one process at a time. A row says who is at it, and no connection is held meanwhile. If the process dies, the row is overdue after `dutyOverdueMs` and
 * another takes it. One that lives and is only slow may be overtaken: rounds beside each other must do no harm.
 */
export class Duty {
  readonly #seams: DutySeams;
  readonly #name: string;
  readonly #round: string;
  #takenAtMs = 0;

  /** `round` is an id that nobody has used, so that a take whose answer was lost can be sent again. */
  constructor(seams: DutySeams, name: string, round: string) {
    this.#seams = seams;
    this.#name = name;
    this.#round = round;
  }

  /** False when another round is under way, or began within the time given. */
  async take(withinMs = 0): Promise<boolean> {
    const { database, clock, bind } = this.#seams;
    this.#takenAtMs = clock.monotonicMs();
    const query = bind(takeDuty, {
      name: this.#name,
      round: this.#round,
      withinMs,
      overdueMs: defaults.dutyOverdueMs,
      now: clock.databaseNow(),
    });
    return (await database.run(query)).length > 0;
  }

  /** To be asked now and then in a long round. False when another has taken it over. */
  async hold(): Promise<boolean> {
    if (this.#seams.clock.monotonicMs() - this.#takenAtMs < defaults.dutyHoldMs) return true;
    return await this.take();
  }

  /** What can't be told the database is found out when it is overdue. */
  async end(): Promise<void> {
    const { database, bind } = this.#seams;
    await database.run(bind(endDuty, { name: this.#name, round: this.#round })).catch(() => {});
  }
}
