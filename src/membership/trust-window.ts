import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import type { MemberSettings } from "./member-settings.js";

/**
 * Until when this process may believe that others take it for alive: its TTL less a margin, counted from the start of its last successful beat, so
 * that a slow answer never stretches it. By the monotonic clock: a frozen process finds the window shut when it wakes.
 */
export class TrustWindow {
  readonly #clock: Clock;
  readonly #events: Events;
  readonly #settings: MemberSettings;
  #untilMs = Number.NEGATIVE_INFINITY;
  #wasOpen = false;

  constructor(seams: { readonly clock: Clock; readonly events: Events }, settings: MemberSettings) {
    this.#clock = seams.clock;
    this.#events = seams.events;
    this.#settings = settings;
  }

  extend(beatStartedAtMs: number): void {
    const { ttlMs, id } = this.#settings;
    const wasShut = this.#untilMs !== Number.NEGATIVE_INFINITY && !this.#wasOpen;
    this.#untilMs = beatStartedAtMs + ttlMs * (1 - defaults.trustMarginShare);
    this.#wasOpen = true;
    if (wasShut) this.#events.emit("trust:regained", { workerId: id });
  }

  isOpen(): boolean {
    const isOpen = this.#clock.monotonicMs() < this.#untilMs;
    if (!isOpen && this.#wasOpen) {
      this.#wasOpen = false;
      this.#events.emit("trust:lost", { workerId: this.#settings.id });
    }
    return isOpen;
  }

  /** Others take this process for dead already. */
  shut(): void {
    this.#untilMs = Math.min(this.#untilMs, this.#clock.monotonicMs());
    this.isOpen();
  }

  /** It has left; nobody needs to hear of it. */
  end(): void {
    this.#untilMs = Number.NEGATIVE_INFINITY;
    this.#wasOpen = false;
  }
}
