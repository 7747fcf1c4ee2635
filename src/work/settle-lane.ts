import { DatabaseUnavailableError } from "../errors.js";
import { defaults } from "../settings.js";
import type { QueueSeams } from "./queue-seams.js";
import { type SettleAnswer, type Settlement, settleGroup } from "./settle.js";

interface Waiting {
  readonly settlement: Settlement;
  readonly untilMs: number;
  readonly resolve: (answer: SettleAnswer | null) => void;
}

/**
 * Writes the outcomes of one worker. Whatever accumulates while a settle is under way goes in the next one: no timer, no added wait, and batches that
 * grow with the load. While the database is away it goes on trying until the lease of a row may have run out.
 */
export class SettleLane {
  readonly #seams: QueueSeams;
  #waiting: Waiting[] = [];
  #isSending = false;
  #onIdle: (() => void)[] = [];

  constructor(seams: QueueSeams) {
    this.#seams = seams;
  }

  get isIdle(): boolean {
    return !this.#isSending && this.#waiting.length === 0;
  }

  /** What the database said; null when it could not be asked before `untilMs`. Never rejects. */
  add(settlement: Settlement, untilMs: number): Promise<SettleAnswer | null> {
    return new Promise((resolve) => {
      this.#waiting.push({ settlement, untilMs, resolve });
      if (!this.#isSending) void this.#send();
    });
  }

  /** Resolves when nothing is waiting or under way. */
  async idle(): Promise<void> {
    while (!this.isIdle) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    // Lets everything that ends in this turn come along.
    await this.#seams.clock.sleep(0);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, defaults.settleRowsMax);
      await this.#settle(batch);
    }
    this.#isSending = false;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    let open = batch;
    for (let tries = 0; open.length > 0; tries++) {
      try {
        const answers = await settleGroup(
          this.#seams,
          open.map((one) => one.settlement),
          tries > 0,
        );
        for (const [i, one] of open.entries()) one.resolve(answers[i] ?? null);
        return;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError)) return await this.#settleApart(open, error);
        open = this.#giveUp(open, error);
      }
    }
  }

  /** One row that the database refuses must not keep the others from being settled. */
  async #settleApart(batch: readonly Waiting[], reason: unknown): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return this.#fail(only, reason);
    for (const one of batch) await this.#settle([one]);
  }

  #giveUp(batch: readonly Waiting[], reason: unknown): readonly Waiting[] {
    const nowMs = this.#seams.clock.monotonicMs();
    for (const one of batch) if (one.untilMs <= nowMs) this.#fail(one, reason);
    return batch.filter((one) => one.untilMs > nowMs);
  }

  #fail(one: Waiting, error: unknown): void {
    const { id } = one.settlement.job;
    this.#seams.events.emit("settle:failed", { queue: this.#seams.settings.name, id, error });
    one.resolve(null);
  }
}
