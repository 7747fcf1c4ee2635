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
  #untilEpochMs = Number.NEGATIVE_INFINITY;
  #wasOpen = false;
  readonly #onShut = new Set<() => void>();

  constructor(seams: { readonly clock: Clock; readonly events: Events }, settings: MemberSettings) {
    this.#clock = seams.clock;
    this.#events = seams.events;
    this.#settings = settings;
  }

  extend(beatStartedAtMs: number): void {
    const { ttlMs, id } = this.#settings;
    const sinceMs = this.#clock.monotonicMs() - beatStartedAtMs;
    this.#untilEpochMs = this.#clock.epochMs() - sinceMs + ttlMs * (1 - defaults.trustMarginShare);
    const wasShut = this.#untilMs !== Number.NEGATIVE_INFINITY && !this.#wasOpen;
    this.#untilMs = beatStartedAtMs + ttlMs * (1 - defaults.trustMarginShare);
    this.#wasOpen = true;
    if (wasShut) this.#events.emit("trust:regained", { workerId: id });
  }

  /** Calls when the window is found shut. */
  onShut(listener: () => void): void {
    this.#onShut.add(listener);
  }

  /** How long it will stay open without another beat. */
  leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs());
  }

  /** The same by the time of day, which also runs while a machine sleeps. A clock that was set ahead makes it too short, which is harmless. */
  leftByDayMs(): number {
    return Math.max(0, this.#untilEpochMs - this.#clock.epochMs());
  }

  isOpen(): boolean {
    const isOpen = this.leftMs() > 0;
    if (!isOpen && this.#wasOpen) {
      this.#wasOpen = false;
      for (const listener of this.#onShut) listener();
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
