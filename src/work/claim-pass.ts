import { DatabaseRefusedError, DatabaseUnavailableError } from "../errors.js";
import type { Membership } from "../membership/membership.js";
import type { OwnedBuckets } from "../membership/owned-buckets.js";
import type { Activity } from "../runtime/activity.js";
import { defaults } from "../settings.js";
import { type Bookmarks, type ClaimPass, claim, newBookmarks } from "./claim.js";
import type { Appetite, ClaimAhead } from "./claim-ahead.js";
import { ClaimSpan } from "./claim-span.js";
import type { Dispatcher } from "./dispatch.js";
import { HeldJob } from "./held-job.js";
import type { QueueSeams } from "./queue-seams.js";
import { leaseDeadlineMs } from "./supervise.js";
import { WakeWish } from "./wake-wish.js";
import { WalkRound } from "./walk-round.js";

export interface ClaimParts {
  readonly membership: Membership;
  readonly owned: OwnedBuckets;
  readonly dispatcher: Dispatcher;
  readonly ahead: ClaimAhead;
  readonly leaseMs: number;
  /** Rows in hand may have outlived their lease: ask for them before anything is claimed. */
  onOverdue(): void;
}

const markedDead = "55000";

/**
 * One pass of the worker: take what there is room for, from the buckets it owns, then say when to look again.
 *
 *   more there      look as soon as there is room
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
  readonly #bookmarks: Bookmarks;
  /** Tokens of rows whose outcome could not be written; they are ours until their lease has run out. */
  readonly #lingering = new Map<bigint, number>();
  /** Keys with more rows behind those in hand, and their buckets: looked at when what is in hand is done. */
  readonly #lookAgain = new Map<string, number>();
  readonly #round = new WalkRound();
  readonly #span = new ClaimSpan();
  #woken: Set<number> | "all" | null = "all";
  #fullAtMs = 0;
  #looks = 0;
  #elsewhere = 0;
  #isMore = false;
  /** Where a claim whose answer never came may have left rows under our name. The next pass looks there too and takes them over. */
  readonly #unsure = new Set<number>();

  constructor(seams: QueueSeams, parts: ClaimParts) {
    this.#seams = seams;
    this.#parts = parts;
    this.#wish = new WakeWish(seams, parts.membership.record, seams.settings.name);
    this.#bookmarks = newBookmarks(Math.floor(seams.random.fraction() * seams.settings.buckets));
  }

  /** True when rows may carry our name that we do not know of. */
  get isUnsure(): boolean {
    return this.#unsure.size > 0;
  }

  /** True when rows may carry our name that we have given up. */
  get isLingering(): boolean {
    const nowMs = this.#seams.clock.monotonicMs();
    return [...this.#lingering.values()].some((untilMs) => untilMs > nowMs);
  }

  /** The row was started and not settled: its token stays known, so that it is not taken for one that nobody has started. */
  linger(held: HeldJob): void {
    this.#lingering.set(held.job.fenceToken, held.deadlineMs + this.#parts.leaseMs);
  }

  /** A notification came, as wished. */
  noteNotification(): void {
    this.#wish.woken();
  }

  /** Rows may be waiting in these buckets. The caller wakes the loop. */
  wakeFor(buckets: readonly number[] | null): void {
    if (buckets === null) this.#woken = "all";
    else if (this.#woken !== "all") this.#woken = new Set([...(this.#woken ?? []), ...buckets]);
    this.#elsewhere = 0;
  }

  /** A row has left; true when there is reason to look now. */
  hasReasonToLook(held: HeldJob): boolean {
    if (held.isLost) this.linger(held);
    const { bucket, partitionKey } = held.job;
    if (
      this.#lookAgain.size > 0 &&
      !this.#parts.dispatcher.holdsLine(partitionKey) &&
      this.#lookAgain.delete(partitionKey)
    )
      this.wakeFor([bucket]);
    return this.#woken !== null || (this.#isMore && this.#parts.ahead.isHungry());
  }

  async run(): Promise<number> {
    const { membership, owned, ahead } = this.#parts;
    const { clock } = this.#seams;
    const nowMs = clock.monotonicMs();
    if ((owned.current.length === 0 && !this.isUnsure) || membership.isSuperseded) return this.#standBack();
    if (!membership.trust.isOpen()) {
      this.#standBack();
      return defaults.pollActiveMs;
    }
    if (this.#parts.dispatcher.hasOverdue(nowMs)) {
      this.#parts.onOverdue();
      return defaults.pollActiveMs;
    }
    const appetite = ahead.appetite();
    if (appetite.limit <= 0) {
      this.#isMore = true;
      return defaults.pollIdleMs;
    }
    const { buckets, isFull: isWhole } = this.#whereToLook(nowMs);
    const before = { ...this.#bookmarks, afterKey: new Map(this.#bookmarks.afterKey) };
    const isSpan = isWhole && this.#isMore;
    const pass = await this.#claim(buckets, appetite, isSpan);
    if (pass === null) return defaults.pollActiveMs;
    const isFull = isWhole && pass.looked === buckets.length;
    this.#keepSlots(pass, { appetite, before });
    if (isWhole) this.#noteSpan(pass, appetite, isFull);
    this.#note(isWhole ? [] : buckets, pass, appetite);
    const delayMs = isWhole && !isFull && pass.jobs.length === 0 ? 0 : await this.#delayAfter(isFull, pass);
    return this.#woken !== null ? 0 : delayMs;
  }

  /** Nothing is claimed, so no slot is kept for what a claim would bring. */
  #standBack(): number {
    this.#parts.dispatcher.reserve(0);
    return Number.POSITIVE_INFINITY;
  }

  /** All that are owned, or only those of a wake while the next full pass is not due. */
  #whereToLook(nowMs: number): { readonly buckets: readonly number[]; readonly isFull: boolean } {
    const { current } = this.#parts.owned;
    const all = this.isUnsure ? [...new Set([...current, ...this.#unsure])] : current;
    const woken = this.#woken;
    this.#woken = null;
    if (woken === "all") this.#bookmarks.afterKey.clear();
    if (woken === null || woken === "all" || nowMs >= this.#fullAtMs) return { buckets: all, isFull: true };
    const mine = current.filter((bucket) => woken.has(bucket));
    for (const bucket of mine) this.#bookmarks.afterKey.delete(bucket);
    return mine.length === 0 ? { buckets: all, isFull: true } : { buckets: mine, isFull: false };
  }

  /** A part of the buckets says nothing about the others: as long as it was not all of them there may be more. */
  #noteSpan(pass: ClaimPass, appetite: Appetite, isFull: boolean): void {
    if (!isFull) this.#isMore = true;
    if (this.#isMore) this.#span.note(pass.looked, pass.jobs.length >= appetite.limit);
    else this.#span.reset();
  }

  async #claim(buckets: readonly number[], appetite: Appetite, isSpan: boolean): Promise<ClaimPass | null> {
    const { membership, dispatcher, leaseMs } = this.#parts;
    const startedAtMs = this.#seams.clock.monotonicMs();
    for (const [token, untilMs] of this.#lingering) if (untilMs < startedAtMs) this.#lingering.delete(token);
    try {
      const pass = await claim(this.#seams, this.#bookmarks, {
        ...appetite,
        workerId: membership.settings.id,
        buckets,
        ...(isSpan ? { among: (inTurn: readonly number[]) => this.#span.of(inTurn, appetite.limit) } : {}),
        leaseMs,
        knownTokens: [...dispatcher.tokens, ...this.#lingering.keys()],
      });
      for (const bucket of buckets) this.#unsure.delete(bucket);
      const deadlineMs = leaseDeadlineMs(startedAtMs, leaseMs);
      dispatcher.add(pass.jobs.map((job) => new HeldJob(job, deadlineMs)));
      return pass;
    } catch (error) {
      this.#woken = "all";
      if (error instanceof DatabaseUnavailableError && error.isAmbiguous)
        for (const bucket of buckets) this.#unsure.add(bucket);
      if (!(error instanceof DatabaseRefusedError && error.sqlState === markedDead)) throw error;
      membership.suspectDeath();
      return null;
    }
  }

  /** Slots are kept for retries every other time, so that neither they nor fresh rows starve; the pass that has them looks where they were seen. */
  #keepSlots(pass: ClaimPass, at: { readonly appetite: Appetite; readonly before: Bookmarks }): void {
    const tookRetries = pass.jobs.some((job) => job.attempt > 1);
    const isCut = pass.stops.size > 0; // It visited as many keys as a pass may, and there are more.
    this.#isMore = pass.jobs.length >= at.appetite.limit || pass.retriesLeft > 0 || isCut;
    this.#parts.dispatcher.reserve(tookRetries ? 0 : pass.retriesLeft);
    if (tookRetries || pass.retriesLeft === 0) return;
    this.#bookmarks.nextBucket = at.before.nextBucket;
    this.#bookmarks.afterKey.clear();
    for (const [bucket, key] of at.before.afterKey) this.#bookmarks.afterKey.set(bucket, key);
  }

  /** Which keys have more rows than were taken: those of a wake, whose new rows may be behind rows in hand, and those of a full run. */
  #note(wokenBuckets: readonly number[], pass: ClaimPass, appetite: Appetite): void {
    if (this.#seams.settings.order !== "key") return;
    const { dispatcher } = this.#parts;
    if (this.#lookAgain.size > defaults.lookAgainKeysMax)
      for (const key of this.#lookAgain.keys()) if (!dispatcher.holdsLine(key)) this.#lookAgain.delete(key);
    for (const bucket of wokenBuckets)
      for (const key of dispatcher.linesIn(bucket)) this.#lookAgain.set(key, bucket);
    const counts = new Map<string, number>();
    for (const { partitionKey, bucket } of pass.jobs) {
      const count = (counts.get(partitionKey) ?? 0) + 1;
      counts.set(partitionKey, count);
      if (count >= appetite.run) this.#lookAgain.set(partitionKey, bucket);
    }
  }

  async #delayAfter(isFull: boolean, pass: ClaimPass): Promise<number> {
    const { clock } = this.#seams;
    const found = pass.jobs.length > 0;
    if (found) {
      this.#round.reset();
      this.#elsewhere = 0;
      await this.#wish.found(this.#isMore);
    }
    if (this.#isMore && this.#parts.ahead.isHungry() && found) return 0;
    if (isFull) {
      const waitMs = found ? this.#jittered(defaults.pollActiveMs) : await this.#idleMs(pass);
      this.#fullAtMs = clock.monotonicMs() + waitMs;
    }
    const dueAtMs =
      clock.monotonicMs() + (pass.dueInMs === null ? Number.POSITIVE_INFINITY : pass.dueInMs + 1);
    this.#fullAtMs = Math.min(this.#fullAtMs, dueAtMs);
    return Math.max(1, this.#fullAtMs - clock.monotonicMs());
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
    if (membership.canBeWoken && !this.#wish.isSaidFor(owned.current, buckets)) {
      await this.#wish.say(owned.current, buckets);
      this.#looks = 0;
    }
    let waitMs = this.#jittered(defaults.pollIdleMs);
    if (membership.canBeWoken) {
      waitMs = Math.min(waitMs, defaults.lookAgainMs[this.#looks] ?? waitMs);
      this.#looks++;
    } else if (dispatcher.inHand.size > 0) waitMs = this.#jittered(defaults.pollActiveMs);
    if (pass.busyElsewhere === 0) return waitMs;
    const patienceMs = (defaults.pollActiveMs / 2) * 2 ** this.#elsewhere;
    this.#elsewhere = Math.min(this.#elsewhere + 1, 6);
    return Math.min(waitMs, this.#jittered(patienceMs));
  }

  #jittered(ms: number): number {
    return ms * (1 - defaults.pollJitter * this.#seams.random.fraction());
  }
}
