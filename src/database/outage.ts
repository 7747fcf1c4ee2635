import { DatabaseRefusedError, DatabaseUnavailableError } from "../errors.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";

/**
 * Tells when the database is lost and when it is back, once each, however many calls fail. One broken connection is no outage: so many calls in a row
 * must have failed, with no answer to any other in between.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #events: Events;
  #failures = 0;
  #sinceMs = 0;
  #isTold = false;

  constructor(seams: { readonly clock: Clock; readonly events: Events }) {
    this.#clock = seams.clock;
    this.#events = seams.events;
  }

  /** What came of a call: null when it went well. Any answer of the server, also an error, shows that it is there. */
  note(error: unknown): void {
    if (error instanceof DatabaseUnavailableError) this.#failed(error);
    else if (this.#failures > 0 && (error === null || error instanceof DatabaseRefusedError))
      this.#answered();
  }

  #failed(error: DatabaseUnavailableError): void {
    if (this.#failures === 0) this.#sinceMs = this.#clock.monotonicMs();
    this.#failures++;
    if (this.#isTold || this.#failures < defaults.databaseLostFailures) return;
    this.#isTold = true;
    this.#events.emit("database:lost", { reason: error.message });
  }

  #answered(): void {
    const { lostMs, retries } = {
      lostMs: this.#clock.monotonicMs() - this.#sinceMs,
      retries: this.#failures,
    };
    this.#failures = 0;
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#events.emit("database:regained", { lostMs, retries });
  }
}
