import type { Activity } from "../runtime/activity.js";
import type { HeldTenant } from "./lease.js";
import type { Ownership } from "./ownership.js";

interface Leaving extends HeldTenant {
  /** Others are to go on with it; otherwise it is cold. */
  readonly staysHot: boolean;
  done(): void;
}

/** Gives up leases of what has ended, all that has come together at once, and again until the database has heard it. */
export class LetGo implements Activity {
  readonly name = "let-go";
  readonly #ownership: Ownership;
  #leaving: Leaving[] = [];

  constructor(ownership: Ownership) {
    this.#ownership = ownership;
  }

  /** The loop has to be woken. */
  add(leaving: Leaving): void {
    this.#leaving.push(leaving);
  }

  async run(): Promise<number> {
    const all = this.#leaving;
    this.#leaving = [];
    try {
      const hot = all.filter(({ staysHot }) => staysHot);
      const cold = all.filter(({ staysHot }) => !staysHot);
      if (hot.length > 0) await this.#ownership.free(hot);
      if (cold.length > 0) await this.#ownership.drop(cold);
    } catch (error) {
      this.#leaving.unshift(...all);
      throw error;
    }
    for (const { done } of all) done();
    return this.#leaving.length > 0 ? 0 : Number.POSITIVE_INFINITY;
  }
}
