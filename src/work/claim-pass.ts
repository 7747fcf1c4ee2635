import type { Membership } from "../membership/membership.js";
import type { OwnedBuckets } from "../membership/owned-buckets.js";
import type { Activity } from "../runtime/activity.js";
import { defaults } from "../settings.js";
import type { Bookmarks, ClaimPass } from "./claim.js";
import type { Appetite, ClaimAhead } from "./claim-ahead.js";
import type { Claimer, Look } from "./claimer.js";
import type { Dispatcher } from "./dispatch.js";
import type { ClaimCause, Figures } from "./figures.js";
import type { HeldJob } from "./held-job.js";
import { HotKeys } from "./hot-keys.js";
import type { QueueSeams } from "./queue-seams.js";
import { WakeWish } from "./wake-wish.js";
import { WalkRound } from "./walk-round.js";

export interface ClaimParts {
  readonly membership: Membership;
  readonly owned: OwnedBuckets;
  readonly dispatcher: Dispatcher;
  readonly ahead: ClaimAhead;
  readonly claimer: Claimer;
  readonly figures: Figures;
  readonly pollIdleMs: number;
  readonly pollActiveMs: number;
  /** Rows in hand may have outlived their lease: ask for them before anything is claimed. */
  onOverdue(): void;
}

/** A claim under way. */
interface Attempt {
  readonly look: Look;
  readonly appetite: Appetite;
  readonly before: Bookmarks;
  readonly wasMore: boolean;
  /** Never rejects: a claim that is under way while rows are started has nobody to catch what it throws. */
  readonly answer: Promise<{ readonly pass: ClaimPass | null } | { readonly error: unknown }>;
}

/**
 * One pass of the worker: take what there is room for, from the buckets it owns, then say when to look again.
 *
 *   more there      look as soon as there is room; the next claim leaves before what the last one brought is started
 *   nothing there   wish to be woken, look at 0, 25, 100 and 400 ms (an insert may have missed the wish), then poll every second or two
 *   in between      poll every 50 ms or so; the more patiently the longer others keep at work on what we own
 *
 * A wake looks only at the buckets it names, from the front. Whatever was missed is found by the next full pass: notifications and
 * everything remembered here are for speed.
 */
export class ClaimActivity implements Activity {
  readonly name = "claim";
  readonly #seams: QueueSeams;
  readonly #parts: ClaimParts;
  readonly #wish: WakeWish;
  /** Keys with more rows behind those in hand, and their buckets: looked at when what is in hand is done. */
  readonly #lookAgain = new Map<string, number>();
  readonly #round = new WalkRound();
  readonly #hot = new HotKeys();
  #woken: Set<number> | "all" | null = "all";
  /** What is woken was named by a notification. */
  #isNotified = false;
  /** In the order in which they were sent. No two of them look into one bucket. */
  readonly #underWay: Attempt[] = [];
  /** Where retries were seen for which slots are kept. */
  #wanted: { readonly look: Look; readonly before: Bookmarks } | null = null;
  #fullAtMs = 0;
  #looks = 0;
  #elsewhere = 0;
  #isMore = false;

  constructor(seams: QueueSeams, parts: ClaimParts) {
    this.#seams = seams;
    this.#parts = parts;
    this.#wish = new WakeWish(seams, parts.membership.record, seams.settings.name);
  }

  /** A notification came, as wished. */
  noteNotification(): void {
    this.#isNotified = true;
    this.#wish.woken();
  }

  /** Rows may be waiting in these buckets. The caller wakes the loop. */
  wakeFor(buckets: readonly number[] | null): void {
    if (buckets === null) this.#woken = "all";
    else if (this.#woken !== "all") {
      this.#woken ??= new Set();
      for (const bucket of buckets) this.#woken.add(bucket);
    }
    this.#elsewhere = 0;
  }

  /** A row has left; true when there is reason to look now. */
  hasReasonToLook(held: HeldJob): boolean {
    const { dispatcher, claimer, ahead } = this.#parts;
    if (held.isLost) claimer.linger(held);
    const { bucket, partitionKey } = held.job;
    if (!held.isDone) this.wakeFor([bucket]); // It may be due again, at a time that only the database knows.
    if (this.#seams.settings.order === "key" && !dispatcher.holdsLine(partitionKey)) {
      claimer.noteLineDone(held);
      this.#hot.noteLineDone(partitionKey);
      if (this.#lookAgain.delete(partitionKey)) this.wakeFor([bucket]);
    }
    return this.#woken !== null || this.#hot.waiting.size > 0 || (this.#isMore && ahead.isHungry());
  }

  async run(): Promise<number> {
    if (this.#underWay.length === 0) {
      const begun = this.#begin();
      if (typeof begun === "number") return begun;
      this.#underWay.push(begun);
    }
    const { attempt: begun, answer } = await this.#answered();
    if ("error" in answer || answer.pass === null) {
      this.#woken = "all";
      if ("error" in answer) throw answer.error;
      return this.#parts.pollActiveMs;
    }
    const { pass } = answer;
    const isFull = this.#digest(begun, pass);
    this.#claimAhead(begun, pass);
    this.#parts.dispatcher.pump();
    // Nobody tells of new rows from now on: the next full pass must not wait for as long as it would if somebody did.
    if (await this.#wish.calmDown()) this.#fullAtMs = 0;
    if (this.#underWay.length > 0) {
      if (pass.jobs.length > 0) await this.#noteFound();
      return 0;
    }
    const isPart = !isFull && this.#isMore && pass.jobs.length === 0;
    const delayMs = isPart ? 0 : await this.#delayAfter(isFull, pass);
    return this.#woken !== null ? 0 : delayMs;
  }

  /** Whichever is answered first: one that has to walk far does not keep the rows of the other waiting. */
  async #answered(): Promise<{ readonly attempt: Attempt; readonly answer: Awaited<Attempt["answer"]> }> {
    const first = await Promise.race(
      this.#underWay.map(async (attempt) => ({ attempt, answer: await attempt.answer })),
    );
    this.#underWay.splice(this.#underWay.indexOf(first.attempt), 1);
    return first;
  }

  /** When nothing more is to be claimed: what the claims under way bring is in the dispatcher's hands when this resolves. */
  async finish(): Promise<void> {
    await Promise.all(this.#underWay.splice(0).map((attempt) => attempt.answer));
  }

  /** Sends a claim; or says how long to wait, because nothing may be claimed now. */
  #begin(): Attempt | number {
    const { membership, owned, ahead, dispatcher, claimer } = this.#parts;
    const nowMs = this.#seams.clock.monotonicMs();
    if ((owned.current.length === 0 && !claimer.isUnsure) || membership.isSuperseded)
      return this.#standBack();
    if (!membership.trust.isOpen()) {
      this.#standBack();
      return this.#parts.pollActiveMs;
    }
    if (dispatcher.hasOverdue(nowMs)) {
      this.#parts.onOverdue();
      return this.#parts.pollActiveMs;
    }
    const coming = this.#underWay.reduce((sum, attempt) => sum + attempt.appetite.limit, 0);
    const hot = this.#lookAtHot();
    if (hot !== null) return this.#send(hot, ahead.appetiteForHot(hot.known?.length ?? 0), "settle");
    const appetite = ahead.appetite(coming);
    if (coming > 0 && appetite.limit < defaults.claimBesideRows) return 0;
    if (appetite.limit <= 0) {
      this.#isMore = true;
      return this.#parts.pollIdleMs;
    }
    const cause = this.#cause();
    return this.#send(this.#whereToLook(nowMs, appetite), appetite, cause);
  }

  /** Of claims under way one may take rows with attempts behind them, which are counted, and one a row that has crashed its worker, of which there is one at a time. */
  #send(look: Look, hunger: Appetite, cause: ClaimCause): Attempt {
    const { claimer } = this.#parts;
    const sentAtMs = this.#seams.clock.monotonicMs();
    const others = this.#underWay.map((attempt) => attempt.appetite);
    const appetite = {
      ...hunger,
      retries: others.some((other) => other.retries > 0) ? 0 : hunger.retries,
      suspects: others.some((other) => other.suspects > 0) ? 0 : hunger.suspects,
    };
    const answer = claimer.claim(look, appetite).then(
      (pass) => {
        if (pass !== null) this.#tell(cause, sentAtMs, pass.jobs.length);
        return { pass };
      },
      (error: unknown) => ({ error }),
    );
    // Where it looks: what it means to look at again has no position any more.
    const before = claimer.bookmarks();
    return { look, appetite, before, wasMore: this.#isMore, answer };
  }

  #tell(cause: ClaimCause, sentAtMs: number, rows: number): void {
    const { clock, events, settings } = this.#seams;
    const { figures, membership } = this.#parts;
    const tookMs = clock.monotonicMs() - sentAtMs;
    figures.claimed(cause, tookMs, rows);
    if (!events.isHeard("claim:finished")) return;
    const { id: workerId } = membership.settings;
    events.emit("claim:finished", { queue: settings.name, workerId, cause, rows, tookMs });
  }

  #cause(): ClaimCause {
    if (this.#underWay.length > 0 || this.#wanted !== null) return "backlog";
    if (this.#woken !== null && this.#isNotified) return "wake";
    if (this.#woken === "all") return "change";
    if (this.#woken !== null) return "settle";
    return this.#isMore ? "backlog" : "poll";
  }

  /** While there is more: the database looks for the next rows while these are read and started. */
  #claimAhead({ appetite }: Attempt, pass: ClaimPass): void {
    if (!this.#isMore || pass.jobs.length < appetite.limit || this.#woken === "all" || this.#wanted !== null)
      return;
    while (this.#underWay.length < defaults.claimsMax && this.#parts.ahead.isHungry()) {
      const next = this.#begin();
      if (typeof next === "number") return;
      this.#underWay.push(next);
    }
  }

  /** Nothing is claimed, so no slot is kept for what a claim would bring. */
  #standBack(): number {
    this.#wanted = null;
    this.#parts.dispatcher.reserve(0);
    this.#parts.dispatcher.pump();
    return Number.POSITIVE_INFINITY;
  }

  /** A claim of their own for keys that have nothing but their own order to wait for. */
  #lookAtHot(): Look | null {
    if (this.#hot.waiting.size === 0 || this.#woken === "all") return null;
    const look = this.#parts.claimer.lookAtKeys(this.#hot.waiting);
    // Beside another claim some may have to wait for that.
    if (this.#underWay.length === 0) this.#hot.askedFor(this.#hot.waiting);
    else this.#hot.askedFor(look?.known?.map(({ key }) => key) ?? []);
    return look;
  }

  /** All that are owned, or only those of a wake while the next full pass is not due, or only keys that are known to have had more. */
  #whereToLook(nowMs: number, appetite: Appetite): Look {
    const { claimer, dispatcher } = this.#parts;
    if (this.#woken === "all") this.#wanted = null; // What is owned may have changed.
    if (this.#wanted !== null && dispatcher.reservedFree > 0) {
      claimer.returnTo(this.#wanted.before);
      return this.#wanted.look;
    }
    const woken = this.#woken;
    if (this.#isMore && woken !== "all" && this.#seams.settings.order === "key") {
      const known = claimer.lookAtKnown(nowMs, appetite);
      if (known !== null) return known;
    }
    if (this.#underWay.length > 0) return claimer.lookAtAll({ isSpan: true, isFromFront: false });
    this.#woken = null;
    this.#isNotified = false;
    const isSome = woken !== null && woken !== "all" && nowMs < this.#fullAtMs;
    const some = isSome ? claimer.lookAtSome(woken) : null;
    return some ?? claimer.lookAtAll({ isSpan: this.#isMore, isFromFront: woken === "all" });
  }

  /** What the pass says about the next one; true when it has looked at everything. */
  #digest(attempt: Attempt, pass: ClaimPass): boolean {
    const { look, appetite, wasMore } = attempt;
    const isFull = look.isWhole && pass.looked.length === look.buckets.length;
    const isFilled = pass.jobs.length >= appetite.limit || pass.isCut;
    if (look.isWhole) this.#parts.ahead.noteFilled(isFilled);
    const isCut = pass.stops.size > 0; // It visited as many keys as a pass may, and there are more.
    this.#isMore = isFilled || pass.retriesLeft > 0 || isCut;
    // A part of the buckets says nothing about the others: only a pass over all of them can tell that there is no more.
    if (!isFull && (look.isWhole || wasMore)) this.#isMore = true;
    this.#keepSlots(attempt, pass);
    if (look.isWhole) this.#parts.claimer.noteSpan(pass.looked.length, this.#isMore, isFilled);
    this.#note(look.isWhole || look.known !== null ? [] : look.buckets, pass, appetite);
    return isFull;
  }

  /** Slots are kept for retries every other time, so that neither they nor fresh rows starve; the pass that has them looks where they were seen. */
  #keepSlots({ look, before }: Attempt, pass: ClaimPass): void {
    const isWanted = look === this.#wanted?.look;
    if (!isWanted && this.#wanted !== null) return;
    const tookRetries = pass.jobs.some((job) => job.attempt > 1);
    // A pass for which a slot was kept takes what there is; if that is nothing, fresh rows must not wait for it, nor may it be asked again at once.
    const left = tookRetries || isWanted ? 0 : pass.retriesLeft;
    this.#parts.dispatcher.reserve(left);
    if (left === 0) this.#wanted = null;
    else if (!isWanted) {
      const buckets = [...new Set(pass.looked)];
      this.#wanted = {
        look: { buckets, isWhole: false, isSpan: false, isWoken: false, known: look.known },
        before,
      };
    }
  }

  /** Which keys have more rows than were taken: those of a wake, whose new rows may be behind rows that were in hand already, and those of a full run. */
  #note(wokenBuckets: readonly number[], pass: ClaimPass, appetite: Appetite): void {
    if (this.#seams.settings.order !== "key") return;
    const { dispatcher } = this.#parts;
    if (this.#lookAgain.size > defaults.lookAgainKeysMax)
      for (const key of this.#lookAgain.keys()) if (!dispatcher.holdsLine(key)) this.#lookAgain.delete(key);
    const counts = new Map<string, number>();
    for (const { partitionKey, bucket } of pass.jobs) {
      const count = (counts.get(partitionKey) ?? 0) + 1;
      counts.set(partitionKey, count);
      if (count >= appetite.run) this.#lookAgain.set(partitionKey, bucket);
    }
    for (const bucket of wokenBuckets)
      for (const key of dispatcher.linesIn(bucket)) if (!counts.has(key)) this.#lookAgain.set(key, bucket);
    for (const key of this.#hot.note(counts, appetite.run)) dispatcher.markHot(key);
  }

  async #noteFound(): Promise<void> {
    this.#round.reset();
    this.#elsewhere = 0;
    await this.#wish.found(this.#isMore);
  }

  async #delayAfter(isFull: boolean, pass: ClaimPass): Promise<number> {
    const { clock } = this.#seams;
    const found = pass.jobs.length > 0;
    if (found) await this.#noteFound();
    if (this.#isMore && this.#parts.ahead.isHungry() && found) return 0;
    if (isFull) {
      const waitMs = found ? this.#foundMs() : await this.#idleMs(pass);
      this.#fullAtMs = clock.monotonicMs() + waitMs;
    }
    const dueAtMs =
      clock.monotonicMs() + (pass.dueInMs === null ? Number.POSITIVE_INFINITY : pass.dueInMs + 1);
    this.#fullAtMs = Math.min(this.#fullAtMs, dueAtMs);
    return Math.max(1, this.#fullAtMs - clock.monotonicMs());
  }

  /** A worker that is notified of new rows need not poll for them. */
  #foundMs(): number {
    const { membership, owned } = this.#parts;
    const isTold = membership.canBeWoken && this.#wish.isSaidFor(owned.current, this.#seams.settings.buckets);
    return isTold && !this.#isMore ? this.#toldMs() : this.#jittered(this.#parts.pollActiveMs);
  }

  /** The looks that remain after the wish was said also follow a pass that found rows: more than one insert may have missed the wish. */
  #toldMs(): number {
    const waitMs = this.#jittered(this.#parts.pollIdleMs);
    return Math.min(waitMs, defaults.lookAgainMs[this.#looks++] ?? waitMs);
  }

  async #idleMs(pass: ClaimPass): Promise<number> {
    const round = this.#round.note(pass, this.#seams.clock.monotonicMs());
    if (!round.isDone) return 0;
    const idleMs = Math.max(round.restMs, await this.#emptyMs(pass));
    return Math.min(idleMs, Math.max(0, round.dueInMs) + 1);
  }

  async #emptyMs(pass: ClaimPass): Promise<number> {
    const { membership, owned, dispatcher } = this.#parts;
    const { buckets } = this.#seams.settings;
    let isSaid = this.#wish.isSaidFor(owned.current, buckets);
    if (membership.canBeWoken && !isSaid && this.#wish.maySay) {
      await this.#wish.say(owned.current, buckets);
      this.#looks = 0;
      isSaid = true;
    }
    let waitMs = this.#jittered(this.#parts.pollActiveMs);
    if (membership.canBeWoken && isSaid) waitMs = this.#toldMs();
    else if (!membership.canBeWoken && dispatcher.inHand.size === 0)
      waitMs = this.#jittered(this.#parts.pollIdleMs);
    if (pass.busyElsewhere === 0) return waitMs;
    const patienceMs = (this.#parts.pollActiveMs / 2) * 2 ** this.#elsewhere;
    this.#elsewhere = Math.min(this.#elsewhere + 1, 6);
    return Math.min(waitMs, this.#jittered(patienceMs));
  }

  #jittered(ms: number): number {
    return ms * (1 - defaults.pollJitter * this.#seams.random.fraction());
  }
}
