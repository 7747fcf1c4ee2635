import { HandlerTimeoutError, UnknownQueueError } from "../errors.js";
import type { Activity } from "../runtime/activity.js";
import { defaults } from "../settings.js";
import type { Dispatcher } from "./dispatch.js";
import type { Figures } from "./figures.js";
import type { Ending, HeldJob } from "./held-job.js";
import type { QueueSeams } from "./queue-seams.js";
import { announceLost, renew } from "./renew.js";

export interface SuperviseParts {
  readonly dispatcher: Dispatcher;
  readonly leaseMs: number;
  readonly abortGraceMs: number;
  readonly figures: Figures;
  /** What a handler's attempt comes to that ignores its signal. */
  givenUp(held: HeldJob): Ending;
}

/**
 * Looks after what is in hand: renews leases at a third of their length, in one statement; ends attempts whose time is up or whose lease is gone. A
 * process that was frozen finds rows past their deadline here, and the dispatcher starts none of them before this has asked the database.
 */
export class Supervise implements Activity {
  readonly name = "supervise";
  readonly #seams: QueueSeams;
  readonly #parts: SuperviseParts;
  #renewAtMs = 0;
  #nextAtMs = 0;

  constructor(seams: QueueSeams, parts: SuperviseParts) {
    this.#seams = seams;
    this.#parts = parts;
  }

  /** True when the loop has to be woken for a handler that ends at the time given. */
  isLateFor(timeoutAtMs: number): boolean {
    return timeoutAtMs < this.#nextAtMs;
  }

  /** Rows may have outlived their lease: renew on the next pass. */
  renewNow(): void {
    this.#renewAtMs = 0;
  }

  async run(): Promise<number> {
    const { clock } = this.#seams;
    this.#endOverdue(clock.monotonicMs());
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#renewAtMs) {
      await this.#renewAll();
      // Only when it succeeded: a renewal that failed is tried again as soon as the loop allows.
      this.#renewAtMs = nowMs + this.#parts.leaseMs * defaults.renewShare;
    }
    const delayMs = this.#delayMs(clock.monotonicMs());
    this.#nextAtMs = clock.monotonicMs() + delayMs;
    return delayMs;
  }

  #endOverdue(nowMs: number): void {
    const { dispatcher, abortGraceMs } = this.#parts;
    for (const held of dispatcher.running) {
      if (held.giveUpAtMs !== null && held.giveUpAtMs <= nowMs) this.#giveUp(held);
      else if (held.timeoutAtMs !== null && held.timeoutAtMs <= nowMs && held.abortReason === null) {
        held.abort(new HandlerTimeoutError(held.job.id, Math.round(held.timeoutAtMs - held.startedAtMs)));
        held.giveUpAtMs = nowMs + abortGraceMs;
      }
    }
  }

  /** The handler ignores its signal. It may go on, but its slot and its row are not its own any more. */
  #giveUp(held: HeldJob): void {
    const { id, queue, kind } = held.job;
    this.#seams.events.emit("job:stuck", { queue, id, kind });
    held.giveUpAtMs = null;
    held.give(this.#parts.givenUp(held));
  }

  async #renewAll(): Promise<void> {
    const { dispatcher } = this.#parts;
    const rows = [...dispatcher.inHand].filter((held) => held.isRenewable);
    try {
      for (let i = 0; i < rows.length; i += defaults.renewRowsMax)
        await this.#renew(rows.slice(i, i + defaults.renewRowsMax));
    } finally {
      // When the database can't be asked, a lease past its deadline counts as lost: somebody else may have the row.
      const nowMs = this.#seams.clock.monotonicMs();
      for (const held of rows) if (held.isRenewable && nowMs >= held.deadlineMs) this.#lose(held, nowMs);
      dispatcher.afterRenewal();
    }
  }

  async #renew(rows: readonly HeldJob[]): Promise<void> {
    const startedAtMs = this.#seams.clock.monotonicMs();
    const jobs = rows.map((held) => held.job);
    const answers = await renew(this.#seams, jobs, this.#parts.leaseMs).catch((error: unknown) => {
      if (!(error instanceof UnknownQueueError)) throw error;
      return jobs.map(({ id }) => ({ id, state: "lost" as const })); // They are gone with their queue.
    });
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    for (const held of rows) {
      const state = byId.get(held.job.id)?.state;
      if (state === "renewed") {
        held.deadlineMs = leaseDeadlineMs(startedAtMs, this.#parts.leaseMs);
        this.#parts.figures.count("renewed");
      } else if (state === "lost" && this.#isReallyLost(held)) this.#lose(held, startedAtMs);
    }
  }

  /** A row that its own job.transaction is just completing looks lost; one that still looks so at the next renewal is. */
  #isReallyLost(held: HeldJob): boolean {
    if (held.isEnding || held.isSettled) return false;
    if (!held.isInTransaction || held.isSuspected) return true;
    held.isSuspected = true;
    return false;
  }

  #lose(held: HeldJob, nowMs: number): void {
    if (!held.isLost) {
      announceLost(this.#seams, held.job);
      this.#parts.figures.count("leasesLost");
    }
    held.lose();
    held.giveUpAtMs = nowMs + this.#parts.abortGraceMs;
  }

  #delayMs(nowMs: number): number {
    let untilMs = Math.min(this.#renewAtMs, nowMs + defaults.superviseMs);
    for (const held of this.#parts.dispatcher.running) {
      const timeoutAtMs = held.abortReason === null ? held.timeoutAtMs : null;
      untilMs = Math.min(untilMs, held.giveUpAtMs ?? timeoutAtMs ?? untilMs);
    }
    return Math.max(1, untilMs - nowMs);
  }
}

/** Until when a lease may be trusted that a call wrote which started at the time given. */
export function leaseDeadlineMs(startedAtMs: number, leaseMs: number): number {
  return startedAtMs + leaseMs * (1 - defaults.leaseMarginShare);
}
