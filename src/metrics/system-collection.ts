import { type Leasehold, surroundingsOf } from "../leasehold.js";
import { Families, type Family } from "./family.js";
import { addSystemMetrics } from "./system-metrics.js";

/** What the database says, asked for by one collection at a time however many scrape, and used again for a while after its end. */
export class SystemCollection {
  readonly #lh: Leasehold;
  readonly #keepMs: number;
  #collected: { readonly atMs: number; readonly families: readonly Family[] } | null = null;
  #underWay: Promise<readonly Family[] | null> | null = null;
  #failures = 0;

  constructor(lh: Leasehold, keepMs: number) {
    this.#lh = lh;
    this.#keepMs = keepMs;
  }

  /** Null when the database could not be asked; the next call asks again. */
  async read(): Promise<readonly Family[] | null> {
    const nowMs = surroundingsOf(this.#lh).clock.monotonicMs();
    const collected = this.#collected;
    if (collected !== null && nowMs - collected.atMs < this.#keepMs) return collected.families;
    this.#underWay ??= this.#collect().finally(() => {
      this.#underWay = null;
    });
    return await this.#underWay;
  }

  async #collect(): Promise<readonly Family[] | null> {
    const { clock, events } = surroundingsOf(this.#lh);
    const families = new Families();
    try {
      await addSystemMetrics(families, this.#lh);
    } catch (error) {
      this.#failures++;
      events.emit("activity:failed", { activity: "metrics", failures: this.#failures, error });
      return null;
    }
    this.#failures = 0;
    const list = families.list();
    this.#collected = { atMs: clock.monotonicMs(), families: list };
    return list;
  }
}
