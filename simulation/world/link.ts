import type { Dice } from "../dice.js";

/** What becomes of one call on its way to the server and back. */
export interface Fate {
  readonly outMs: number;
  readonly backMs: number;
  /** Lost before it ran, or after it ran and before its answer came; `silently` means that only the client's own patience ends it. */
  readonly lost: "no" | "before" | "after";
  readonly isSilent: boolean;
  /** Whether the client can know that a call lost before it ran did not run. */
  readonly isKnown: boolean;
}

/** How bad the way between a process and the server is. */
export interface Weather {
  lostShare: number;
  slowShare: number;
  slowMsMax: number;
  /** Of notifications, that are lost or doubled. */
  oddNoticeShare: number;
}

/** The way of one process to the server. */
export class Link {
  readonly #dice: Dice;
  readonly #weather: Weather;
  /** Nothing comes through, and nobody is told. */
  isCut = false;
  /** How many times slower than usual. */
  slowness = 1;

  constructor(dice: Dice, weather: Weather) {
    this.#dice = dice;
    this.#weather = weather;
  }

  fate(): Fate {
    const dice = this.#dice;
    const { lostShare, slowShare, slowMsMax } = this.#weather;
    const lost = dice.chance(lostShare) ? dice.pick(["before", "after"] as const) : "no";
    return {
      outMs: this.latencyMs() + (dice.chance(slowShare) ? dice.between(10, slowMsMax) : 0),
      backMs: this.latencyMs() + (dice.chance(slowShare) ? dice.between(10, slowMsMax) : 0),
      lost,
      isSilent: dice.chance(0.2),
      isKnown: dice.chance(0.5),
    };
  }

  /** How often a notification comes: once, if all is well. */
  noticeTimes(dice: Dice): number {
    return dice.chance(this.#weather.oddNoticeShare) ? dice.pick([0, 2] as const) : 1;
  }

  latencyMs(): number {
    return this.#dice.between(0.2, 3) * this.slowness;
  }
}
