import { pauseQueue, resumeQueue } from "../database/statements.generated.js";
import { InvalidOptionError, UnknownQueueError } from "../errors.js";
import type { Progress } from "../operate/batches.js";
import { changeQueue } from "../operate/change-queue.js";
import {
  type DeadLetterGroups,
  type DeadLetterOptions,
  deadLetterOptionNames,
  deadLetters,
} from "../operate/dead-letters.js";
import { discard } from "../operate/discard.js";
import { type DiscardFilter, filterNames, type JobFilter, type ListFilter } from "../operate/job-filter.js";
import { get, list } from "../operate/list.js";
import { type KeyOwner, ownerOf } from "../operate/owner-of.js";
import { retry } from "../operate/redrive.js";
import { type SearchPage, search } from "../operate/search.js";
import { type SearchFilter, searchFilterNames } from "../operate/search-filter.js";
import { type QueueStats, type StatsOptions, stats, statsOptionNames } from "../operate/stats.js";
import { type Why, why } from "../operate/why.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import type { Query, Tx } from "../seams/database.js";
import { asFunction, defaults, flag } from "../settings.js";
import { checkedHeld, checkedSettlements } from "./checked-settlement.js";
import { type Bookmarks, claim, newBookmarks } from "./claim.js";
import { type ClaimOptions, checkedClaimOptions } from "./claim-options.js";
import { type Enqueued, enqueueAll, enqueueOn } from "./enqueue.js";
import { EnqueueLane } from "./enqueue-lane.js";
import type { BegunEnqueue } from "./hooks.js";
import type { ClaimedJob } from "./job.js";
import { addedHeaders, type JobQueue } from "./job-headers.js";
import { type EnqueueOptions, enqueueOptionNames, type NewJob, type NewJobInput, newJob } from "./new-job.js";
import { newJobs } from "./new-jobs.js";
import { complete, type Outcome, outcomeOf, release } from "./outcome.js";
import type { QueueChange } from "./queue-options.js";
import type { QueueSeams } from "./queue-seams.js";
import type { QueueSettings } from "./queue-settings.js";
import { announceLost, type Renewal, renew } from "./renew.js";
import { settle } from "./settle.js";
import type { Settlement } from "./settlement.js";
import type { ClaimedJobOf, JobInput, JobRecordOf, JobTypes, KindOf } from "./typed-jobs.js";

const enqueueNames: OptionNames<EnqueueOptions & InTransaction> = Object.freeze({
  ...enqueueOptionNames,
  tx: true,
  wake: true,
});
const noProgress: Progress = () => {};
const txNames: OptionNames<InTransaction> = Object.freeze({ tx: true, wake: true });

/** One queue, by hand. The worker loop uses the same verbs. */
export class Queue<J extends JobTypes = Record<string, unknown>> {
  #seams: QueueSeams;
  readonly #plainLane: EnqueueLane;
  readonly #keyedLane: EnqueueLane;
  readonly #bookmarks: Bookmarks;

  constructor(seams: QueueSeams) {
    this.#seams = seams;
    this.#bookmarks = newBookmarks(Math.floor(seams.random.fraction() * seams.settings.buckets));
    const keyOfStrict = (job: NewJob) => job.partitionKey ?? job.id;
    this.#plainLane = new EnqueueLane(seams, seams.settings.strict ? keyOfStrict : null);
    this.#keyedLane = new EnqueueLane(
      seams,
      seams.settings.strict ? keyOfStrict : (job) => job.idempotencyKey ?? job.id,
    );
  }

  get name(): string {
    return this.#seams.settings.name;
  }

  get settings(): QueueSettings {
    return this.#seams.settings;
  }

  /** Adds a job; resolves when its row has committed. With `tx` the row commits or rolls back with your transaction. */
  async enqueue<K extends KindOf<J>>(
    kind: K,
    payload: J[K],
    options: EnqueueOptions & InTransaction = {},
  ): Promise<Enqueued> {
    const { tx, wake, ...rest } = withKnownNames("enqueue()", options, enqueueNames);
    const wakes = checkedWake(tx, wake);
    const begun = this.#seams.hooks.beginEnqueue({ queue: this.name, jobs: 1 });
    try {
      const job = newJob({ ...rest, kind, payload }, this.#seams.newId(), this.#with(begun));
      const answer = tx === undefined ? await this.#lane(job).add(job) : await this.#addOn(tx, job, wakes);
      begun?.end(null);
      if (tx === undefined) this.#announce([answer]);
      return answer;
    } catch (error) {
      begun?.end(error);
      throw error;
    }
  }

  /** Adds many jobs, all or none, in the order given. */
  async enqueueMany(jobs: readonly JobInput<J>[], options: InTransaction = {}): Promise<readonly Enqueued[]> {
    const { tx, wake } = withKnownNames("enqueueMany()", options, txNames);
    const wakes = checkedWake(tx, wake);
    if (!Array.isArray(jobs) || jobs.length > defaults.enqueueManyRowsMax) {
      throw new InvalidOptionError(
        "jobs",
        jobs?.length,
        `an array of at most ${defaults.enqueueManyRowsMax} jobs`,
      );
    }
    if (jobs.length === 0) return [];
    const begun = this.#seams.hooks.beginEnqueue({ queue: this.name, jobs: jobs.length });
    try {
      const checked = newJobs(jobs as readonly NewJobInput[], this.#seams.newId, this.#with(begun));
      const answers =
        tx === undefined
          ? await enqueueAll(this.#seams, checked, this.settings.strict)
          : await enqueueOn(tx, this.#seams, checked, wakes);
      begun?.end(null);
      if (tx === undefined) this.#announce(answers);
      return answers;
    } catch (error) {
      begun?.end(error);
      throw error;
    }
  }

  /** Takes jobs from the front of their lines, with a lease on each. */
  async claim(options: ClaimOptions): Promise<readonly ClaimedJobOf<J>[]> {
    const { jobs } = await claim(this.#seams, this.#bookmarks, checkedClaimOptions(options));
    return jobs as readonly ClaimedJob[] as readonly ClaimedJobOf<J>[];
  }

  /** Each of these says whether the row was still held; if not, nothing was changed. */
  async complete(job: HeldJob): Promise<boolean> {
    return await this.#settleOne(job, complete);
  }

  async fail(job: HeldJob, error: unknown): Promise<boolean> {
    return await this.#settleOne(job, outcomeOf(error));
  }

  /** Gives a job back unstarted; the attempt does not count. */
  async release(job: HeldJob): Promise<boolean> {
    return await this.#settleOne(job, release);
  }

  /** Several outcomes in one statement: a failure and the release of the rows behind it belong together. */
  async settle(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return await settle(this.#seams, checkedSettlements(settlements));
  }

  async renew(job: HeldJob, leaseMs?: number): Promise<Renewal> {
    const held = checkedHeld(job);
    const [renewal = { id: held.id, state: "lost" as const }] = await renew(this.#seams, [held], leaseMs);
    if (renewal.state === "lost") announceLost(this.#seams, held);
    return renewal;
  }

  /** Counts of the queue's table. With `exact: false` an estimate from a part of a large table, which answers quickly at any size. */
  async stats(options: StatsOptions = {}): Promise<QueueStats> {
    return await stats(this.#seams, withKnownNames("stats()", options, statsOptionNames));
  }

  async list(filter: ListFilter = {}): Promise<readonly JobRecordOf<J>[]> {
    return (await list(
      this.#seams,
      withKnownNames("list()", filter, filterNames.list),
    )) as readonly JobRecordOf<J>[];
  }

  /** Looks at a bounded part of the queue, newest first, and gives a cursor to go on with. Answers quickly on a queue of any size. */
  async search(filter: SearchFilter = {}): Promise<SearchPage<JobRecordOf<J>>> {
    const page = await search(this.#seams, withKnownNames("search()", filter, searchFilterNames));
    return page as SearchPage as SearchPage<JobRecordOf<J>>;
  }

  async get(id: string): Promise<JobRecordOf<J> | null> {
    return (await get(this.#seams, id)) as JobRecordOf<J> | null;
  }

  async why(id: string): Promise<Why> {
    return await why(this.#seams, id);
  }

  /** Who works on a partition key, and who would be next. */
  async ownerOf(key: string): Promise<KeyOwner> {
    return await ownerOf(this.#seams, key);
  }

  /** The newest dead letters by kind and error, a bounded number of them, largest group first. */
  async deadLetters(options: DeadLetterOptions = {}): Promise<DeadLetterGroups> {
    return await deadLetters(this.#seams, withKnownNames("deadLetters()", options, deadLetterOptionNames));
  }

  async retry(filter: JobFilter = {}, progress: Progress = noProgress): Promise<number> {
    asFunction("progress", progress);
    return await retry(this.#seams, withKnownNames("retry()", filter, filterNames.retry), progress);
  }

  async discard(filter: DiscardFilter, progress: Progress = noProgress): Promise<number> {
    asFunction("progress", progress);
    return await discard(this.#seams, withKnownNames("discard()", filter, filterNames.discard), progress);
  }

  /** Nothing is claimed until resume(); rows in process go on, and enqueue works. */
  async pause(): Promise<void> {
    const { bind, clock } = this.#seams;
    await this.#change(bind(pauseQueue, { name: this.name, now: clock.databaseNow() }));
  }

  async resume(): Promise<void> {
    await this.#change(this.#seams.bind(resumeQueue, { name: this.name }));
  }

  /** Changes what can be changed while the queue is at work; all else is fixed when it is created. Needs the rights of the owner. */
  async change(change: QueueChange): Promise<QueueSettings> {
    const settings = await changeQueue(this.#seams, change);
    this.#seams = { ...this.#seams, settings };
    return settings;
  }

  async #change(query: Query<unknown>): Promise<void> {
    const changed = await this.#seams.database.run(query);
    if (changed.length === 0) throw new UnknownQueueError(this.name, this.settings.schema);
  }

  #with(begun: BegunEnqueue | null): JobQueue {
    return begun === null ? this.#seams : { ...this.#seams, added: addedHeaders(begun.headers) };
  }

  async #addOn(tx: Tx, job: NewJob, wakes: boolean): Promise<Enqueued> {
    const [answer] = await enqueueOn(tx, this.#seams, [job], wakes);
    return answer ?? { id: job.id, duplicate: false };
  }

  #announce(answers: readonly Enqueued[]): void {
    const duplicates = answers.filter(({ duplicate }) => duplicate).length;
    this.#seams.events.emit("jobs:enqueued", { queue: this.name, count: answers.length, duplicates });
  }

  #lane(job: NewJob): EnqueueLane {
    return job.idempotencyKey === null ? this.#plainLane : this.#keyedLane;
  }

  async #settleOne(job: HeldJob, outcome: Outcome): Promise<boolean> {
    const [held] = await settle(this.#seams, [{ job: checkedHeld(job), outcome }]);
    return held === true;
  }
}

/** What every queue has, whatever its jobs: for functions that inspect or settle. A function that enqueues takes a `Queue<J>` of its own type. */
export type AnyQueue = Omit<Queue, "enqueue" | "enqueueMany">;

export type HeldJob = Pick<ClaimedJob, "id" | "workerId" | "fenceToken">;

/** An enqueue in a transaction of the user's. */
export interface InTransaction {
  readonly tx?: Tx | undefined;
  /** False for a transaction that is to be prepared (PREPARE TRANSACTION), which may not notify: workers find the jobs at their next poll. */
  readonly wake?: boolean | undefined;
}

function checkedWake(tx: Tx | undefined, wake: boolean | undefined): boolean {
  if (wake !== undefined && tx === undefined)
    throw new InvalidOptionError("wake", wake, "left out: it counts in a transaction of yours (tx) only");
  return flag("wake", wake, true);
}
