import { DatabaseRefusedError, DatabaseUnavailableError } from "../errors.js";
import type { Membership } from "../membership/membership.js";
import type { OwnedBuckets } from "../membership/owned-buckets.js";
import { defaults } from "../settings.js";
import { type Bookmarks, type ClaimPass, claim, claimWoken, newBookmarks } from "./claim.js";
import type { Appetite } from "./claim-ahead.js";
import { ClaimSpan } from "./claim-span.js";
import { CommitWatermark } from "./commit-watermark.js";
import type { Dispatcher } from "./dispatch.js";
import { type FrontPlan, Fronts } from "./fronts.js";
import type { Health } from "./health.js";
import { HeldJob } from "./held-job.js";
import { type KnownKey, KnownKeys } from "./known-keys.js";
import type { QueueSeams } from "./queue-seams.js";
import { leaseDeadlineMs } from "./supervise.js";

export interface ClaimerParts {
  readonly membership: Membership;
  readonly owned: OwnedBuckets;
  readonly dispatcher: Dispatcher;
  readonly leaseMs: number;
  /** What this worker has handlers for. */
  readonly kinds: readonly string[];
  readonly health: Health;
}

/** Where a pass looks. */
export interface Look {
  readonly buckets: readonly number[];
  /** All buckets that are owned, or the next in turn of them (`isSpan`). */
  readonly isWhole: boolean;
  /** The next in turn, of buckets or of known keys, while there is more than can be taken. */
  readonly isSpan: boolean;
  /** A notification named them, and nothing is known of them but that fresh rows are there. */
  readonly isWoken: boolean;
  readonly known: readonly KnownKey[] | null;
}

const markedDead = "55000";

/**
 * Makes one claim and remembers what helps the next one: where it stopped, how many buckets it took, which keys had more, what may carry our name. All of it may be
 * forgotten at any time.
 */
export class Claimer {
  readonly #seams: QueueSeams;
  readonly #parts: ClaimerParts;
  readonly #bookmarks: Bookmarks;
  readonly #span = new ClaimSpan();
  readonly #fronts = new Fronts();
  readonly #known = new KnownKeys();
  readonly #watermark = new CommitWatermark();
  /** The turn in which this worker left each bucket: while it lasts, nobody else has taken rows there. */
  readonly #turns = new Map<number, bigint>();
  /** Where a claim is looking now. No other one looks there: it would take rows for lost whose claim is about to be answered. */
  readonly #underWay = new Set<number>();
  /** Tokens of rows whose outcome could not be written; they are ours until their lease has run out. */
  readonly #lingering = new Map<bigint, number>();
  /**
   * Where a claim whose answer never came may have left rows under our name, and since when. Passes look there too and take them over, until one that began so much later
   * that the lost one must have ended.
   */
  readonly #unsure = new Map<number, number>();

  constructor(seams: QueueSeams, parts: ClaimerParts) {
    this.#seams = seams;
    this.#parts = parts;
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

  /** The last row in hand of its key has left. */
  noteLineDone(held: HeldJob): void {
    const { partitionKey: key, bucket, seq: doneTo } = held.job;
    const floor = this.#watermark.floorOf(key, doneTo, held.watermark);
    const known = { key, bucket, floor, doneTo, turn: held.turn };
    if (held.isDone) this.#known.remember(known, this.#seams.clock.monotonicMs());
  }

  /** For the caller to come back to, when a pass has to be made again. */
  bookmarks(): Bookmarks {
    return { ...this.#bookmarks, afterKey: new Map(this.#bookmarks.afterKey) };
  }

  returnTo(before: Bookmarks): void {
    this.#bookmarks.nextBucket = before.nextBucket;
    this.#bookmarks.afterKey.clear();
    for (const [bucket, key] of before.afterKey) this.#bookmarks.afterKey.set(bucket, key);
  }

  /** These keys, as far as they are remembered; null when none is. */
  lookAtKeys(keys: Iterable<string>): Look | null {
    const known = this.isUnsure ? [] : this.#known.of(keys);
    return this.#lookAt(
      known.filter(({ bucket }) => !this.#underWay.has(bucket)),
      false,
    );
  }

  /** Keys of which this worker has had more than it could take, when asking for them is better than walking. */
  lookAtKnown(nowMs: number, appetite: Appetite): Look | null {
    const keysMax = Math.min(defaults.knownKeysPerPass, 1 + Math.ceil((2 * appetite.limit) / appetite.run));
    return this.#lookAt(this.isUnsure ? [] : this.#known.next(nowMs, keysMax, this.#underWay), true);
  }

  /** Without keys of buckets that have gone to others, and what was true in an earlier turn. */
  #lookAt(known: readonly KnownKey[], isSpan: boolean): Look | null {
    const buckets = this.#parts.owned.current;
    const owned = new Set(buckets);
    const valid: KnownKey[] = [];
    for (const one of known) {
      if (owned.has(one.bucket) && this.#turns.get(one.bucket) === one.turn) valid.push(one);
      else this.#known.forget(one.key);
    }
    return valid.length === 0 ? null : { buckets, isWhole: false, isSpan, isWoken: false, known: valid };
  }

  /** All that are owned, also those where our name may be; only the next few in turn of them while there is more than we can take. */
  lookAtAll(how: { readonly isSpan: boolean; readonly isFromFront: boolean }): Look {
    const { current } = this.#parts.owned;
    const { afterKey } = this.#bookmarks;
    if (how.isFromFront) {
      afterKey.clear();
      this.#fronts.lookAgain();
    }
    const buckets = this.isUnsure ? [...new Set([...current, ...this.#unsure.keys()])] : current;
    return { buckets, isWhole: true, isSpan: how.isSpan, isWoken: false, known: null };
  }

  /** These of the owned buckets; null when none of them is owned. */
  lookAtSome(wanted: ReadonlySet<number>): Look | null {
    const mine = this.#parts.owned.current.filter((bucket) => wanted.has(bucket));
    if (mine.length === 0) return null;
    const { afterKey } = this.#bookmarks;
    if (this.#seams.settings.order === "key") for (const bucket of mine) afterKey.delete(bucket);
    const isWoken =
      !this.isUnsure &&
      mine.length <= defaults.wokenBucketsMax &&
      !mine.some((bucket) => afterKey.has(bucket));
    return { buckets: mine, isWhole: false, isSpan: false, isWoken, known: null };
  }

  noteSpan(looked: number, isMore: boolean, isFilled: boolean): void {
    if (isMore) this.#span.note(looked, isFilled || this.#known.isWalkDear);
    else this.#span.reset();
  }

  /** Claims, and puts what came into the dispatcher's hands; starts nothing. Null when this worker is marked dead and has to register again. */
  async claim(look: Look, appetite: Appetite): Promise<ClaimPass | null> {
    const { membership, dispatcher, leaseMs, health } = this.#parts;
    const startedAtMs = this.#seams.clock.monotonicMs();
    const watermark = this.#watermark.seq;
    for (const [token, untilMs] of this.#lingering) if (untilMs < startedAtMs) this.#lingering.delete(token);
    if (look.isSpan && look.known === null) this.#known.noteWalkBegun(startedAtMs);
    const reserved: number[] = [];
    try {
      const { pass, plan } = await this.#ask(look, appetite, (buckets) => {
        for (const bucket of buckets) this.#underWay.add(bucket);
        reserved.push(...buckets);
      });
      health.claimed();
      for (const bucket of pass.looked)
        if ((this.#unsure.get(bucket) ?? startedAtMs) <= startedAtMs - defaults.unsureMs)
          this.#unsure.delete(bucket);
      this.#learn(look, pass, { startedAtMs, plan, limit: appetite.limit });
      const deadlineMs = leaseDeadlineMs(startedAtMs, leaseMs);
      const bytes = pass.bytes / Math.max(1, pass.jobs.length);
      dispatcher.hold(
        pass.jobs.map(
          (job) => new HeldJob(job, deadlineMs, { turn: this.#turnOf(job.bucket), bytes, watermark }),
        ),
      );
      return pass;
    } catch (error) {
      if (error instanceof DatabaseUnavailableError && error.isAmbiguous) this.#doubt(look.buckets);
      if (!(error instanceof DatabaseRefusedError && error.sqlState === markedDead)) {
        health.claimFailed(error);
        throw error;
      }
      membership.suspectDeath();
      return null;
    } finally {
      for (const bucket of reserved) this.#underWay.delete(bucket);
    }
  }

  /** Tells where it looks before it sends anything. */
  async #ask(
    look: Look,
    appetite: Appetite,
    reserve: (buckets: readonly number[]) => void,
  ): Promise<{ readonly pass: ClaimPass; readonly plan: FrontPlan | null }> {
    const { membership, dispatcher, leaseMs } = this.#parts;
    const { buckets, isSpan } = look;
    const startedAtMs = this.#seams.clock.monotonicMs();
    const known =
      look.known?.map((one) => ({ ...one, floor: this.#watermark.startOf(one, startedAtMs) })) ?? null;
    const isOrdered = this.#seams.settings.order === "key";
    const common = {
      ...appetite,
      workerId: membership.settings.id,
      generation: membership.record.generation,
      kinds: this.#parts.kinds,
      buckets,
      leaseMs,
      ...(isOrdered ? { turnOf: (bucket: number) => this.#turnOf(bucket) } : {}),
    };
    if (look.isWoken) {
      reserve(buckets);
      const pass = await claimWoken(this.#seams, this.#bookmarks, common);
      if (pass !== null) return { pass, plan: null };
    }
    if (known !== null) reserve(known.map(({ bucket }) => bucket));
    let plan: FrontPlan | null = null;
    const pass = await claim(this.#seams, this.#bookmarks, {
      ...common,
      ...(known === null ? {} : { known }),
      onDrawn: (drawn) => this.#watermark.note(drawn),
      among: (inTurn) => {
        const free = look.isWoken ? inTurn : inTurn.filter((bucket) => !this.#underWay.has(bucket));
        const some = isSpan ? this.#span.of(free, appetite.limit, this.#known.isWalkDear) : free;
        reserve(some);
        if (!isOrdered)
          plan = this.#fronts.plan(some, this.#bookmarks.afterKey, {
            nowMs: this.#seams.clock.monotonicMs(),
            unsure: this.#unsure,
          });
        return some;
      },
      ...(isOrdered ? {} : { afterOf: (bucket: number) => plan?.after.get(bucket) ?? "" }),
      knownTokens: [...dispatcher.tokens, ...this.#lingering.keys()],
      onUnsure: () => this.#doubt(look.buckets),
    });
    return { pass, plan };
  }

  #doubt(buckets: readonly number[]): void {
    const nowMs = this.#seams.clock.monotonicMs();
    for (const bucket of buckets) this.#unsure.set(bucket, nowMs);
  }

  /** One that no bucket is ever in while it is not known. */
  #turnOf(bucket: number): bigint {
    return this.#turns.get(bucket) ?? -1n;
  }

  /** Positions, remembered keys, and what it cost to find rows with them and without. */
  #learn(
    look: Look,
    pass: ClaimPass,
    before: {
      readonly startedAtMs: number;
      readonly plan: FrontPlan | null;
      readonly limit: number;
    },
  ): void {
    const nowMs = this.#seams.clock.monotonicMs();
    const tookMs = nowMs - before.startedAtMs;
    if (this.#seams.settings.order === "none") {
      const how = { plan: before.plan, tookMs, nowMs, owned: this.#parts.owned.current.length };
      this.#fronts.note(pass, this.#bookmarks.afterKey, how);
      return;
    }
    for (const [bucket, turn] of pass.foreign) {
      if (turn === null) this.#turns.delete(bucket);
      else this.#turns.set(bucket, turn);
    }
    for (const job of pass.jobs) this.#known.forget(job.partitionKey);
    // A pass that was filled has not visited them all.
    const isFilled = pass.jobs.length >= before.limit || pass.isCut;
    if (look.known !== null) this.#watermark.tookMs(tookMs, nowMs);
    if (look.known !== null && !isFilled) this.#known.missed(look.known, nowMs);
    const taken = new Set(pass.jobs.map((job) => job.partitionKey));
    for (const { key } of look.known ?? [])
      if (!taken.has(key) && !this.#parts.dispatcher.holdsLine(key)) this.#watermark.forget(key);
    const cost = { tookMs, nowMs, rows: pass.jobs.length, isFilled };
    if (look.isSpan) this.#known.noteCost(look.known === null ? "walk" : "known", cost);
  }
}
