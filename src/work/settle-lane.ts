import { ClosedError, DatabaseUnavailableError, UnknownQueueError } from "../errors.js";
import { defaults } from "../settings.js";
import { completeMany } from "./complete-many.js";
import type { Counts, Figures } from "./figures.js";
import type { Health } from "./health.js";
import type { QueueSeams } from "./queue-seams.js";
import { settleGroup } from "./settle.js";
import { leaseOf, type SettleAnswer, type Settlement } from "./settlement.js";

interface Waiting {
  readonly settlement: Settlement;
  readonly untilMs: number;
  readonly answered: (answer: SettleAnswer | null) => void;
}

/**
 * Writes the outcomes of one worker. Whatever accumulates while a settle is under way goes in the next one: no timer, no added wait, and batches that
 * grow with the load. While the database is away it goes on trying until the lease of a row may have run out.
 */
export class SettleLane {
  readonly #seams: QueueSeams;
  readonly #health: Health;
  readonly #figures: Figures;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(seams: QueueSeams, health: Health, figures: Figures) {
    this.#seams = seams;
    this.#health = health;
    this.#figures = figures;
  }

  /** Tells what the database said; null when it could not be asked before `untilMs`. */
  add(settlement: Settlement, untilMs: number, answered: (answer: SettleAnswer | null) => void): void {
    this.#waiting.push({ settlement, untilMs, answered });
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    // Lets everything that ends in this turn come along.
    await this.#seams.clock.sleep(0);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, defaults.settleRowsMax);
      const isDone = (one: Waiting): boolean => one.settlement.outcome.is === "complete";
      const rest = batch.filter((one) => !isDone(one));
      if (rest.length === 0) await this.#settle(batch);
      else await Promise.all([this.#settle(batch.filter(isDone)), this.#settle(rest)]);
    }
    this.#isSending = false;
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    let open = batch;
    for (let tries = 0; open.length > 0; tries++) {
      try {
        await this.#try(open, tries > 0);
        return;
      } catch (error) {
        if (error instanceof UnknownQueueError) return this.#dropAll(open);
        if (error instanceof ClosedError) return this.#failAll(open, error);
        if (!(error instanceof DatabaseUnavailableError)) return await this.#settleApart(open);
        open = this.#giveUp(open, error);
      }
    }
  }

  async #try(batch: readonly Waiting[], mayHaveRun: boolean): Promise<void> {
    const settlements = batch.map((one) => one.settlement);
    const triesMax = defaults.workerTriesMax;
    const isDone = settlements[0]?.outcome.is === "complete"; // They are of one sort: #send has parted them.
    const write = isDone ? completeMany : settleGroup;
    const sort = isDone ? "complete" : "other";
    const answers = await write(this.#seams, settlements, { mayHaveRun, triesMax }).catch(
      (error: unknown) => {
        for (const { job } of settlements.length === 1 ? settlements : [])
          this.#health.settleFailed(sort, leaseOf(job.id, job.fenceToken), error);
        throw error;
      },
    );
    this.#health.settled(sort);
    for (const [i, one] of batch.entries()) {
      const answer = answers[i] ?? null;
      if (answer !== null) this.#figures.count(countOf(one.settlement, answer));
      one.answered(answer);
    }
  }

  /** One row that the database refuses must not keep the others from being settled. */
  async #settleApart(batch: readonly Waiting[]): Promise<void> {
    for (const one of batch) await this.#try([one], true).catch(() => void this.#insist(one));
  }

  /** What is refused now may be accepted later: a server that is read-only for a moment, a full disk, a lock held too long. */
  async #insist(one: Waiting): Promise<void> {
    const { clock, random } = this.#seams;
    for (let tries = 1; ; tries++) {
      const ceiling = Math.min(defaults.loopBackoffMs * 2 ** tries, defaults.loopBackoffMsMax);
      await clock.sleep(ceiling * (0.5 + random.fraction() / 2));
      try {
        return await this.#try([one], true);
      } catch (error) {
        const isOver = clock.monotonicMs() >= one.untilMs || error instanceof ClosedError;
        if (isOver) return this.#fail(one, error);
      }
    }
  }

  /** The rows are gone with their queue. */
  #dropAll(batch: readonly Waiting[]): void {
    for (const one of batch) one.answered({ held: false, status: null });
  }

  /** No later try can succeed. */
  #failAll(batch: readonly Waiting[], error: ClosedError): void {
    for (const one of batch) this.#fail(one, error);
  }

  #giveUp(batch: readonly Waiting[], reason: unknown): readonly Waiting[] {
    const nowMs = this.#seams.clock.monotonicMs();
    for (const one of batch) if (one.untilMs <= nowMs) this.#fail(one, reason);
    return batch.filter((one) => one.untilMs > nowMs);
  }

  #fail(one: Waiting, error: unknown): void {
    const { id } = one.settlement.job;
    this.#seams.events.emit("settle:failed", { queue: this.#seams.settings.name, id, error });
    one.answered(null);
  }
}

function countOf({ outcome }: Settlement, { held, status }: SettleAnswer): keyof Counts {
  if (!held) return "refused";
  switch (outcome.is) {
    case "complete":
      return "completed";
    case "retry":
      return status === "dead_letter" ? "deadLettered" : "retried";
    case "dead_letter":
      return "deadLettered";
    case "release":
      return "released";
    default:
      return outcome satisfies never;
  }
}
