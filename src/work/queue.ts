import { pauseQueue, resumeQueue } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import type { Progress } from "../operate/batches.js";
import { changeQueue, type QueueChange } from "../operate/change-queue.js";
import { discard } from "../operate/discard.js";
import { type DiscardFilter, filterNames, type JobFilter, type ListFilter } from "../operate/job-filter.js";
import { get, list } from "../operate/list.js";
import { retry } from "../operate/redrive.js";
import { type QueueStats, stats } from "../operate/stats.js";
import { type Why, why } from "../operate/why.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import type { Tx } from "../seams/database.js";
import { asFunction, defaults, flag } from "../settings.js";
import { checkedHeld, checkedSettlements } from "./checked-settlement.js";
import { type Bookmarks, claim, newBookmarks } from "./claim.js";
import { type ClaimOptions, checkedClaimOptions } from "./claim-options.js";
import { type Enqueued, enqueueAll, enqueueOn } from "./enqueue.js";
import { EnqueueLane } from "./enqueue-lane.js";
import type { ClaimedJob } from "./job.js";
import { type EnqueueOptions, enqueueOptionNames, type NewJob, type NewJobInput, newJob } from "./new-job.js";
import { newJobs } from "./new-jobs.js";
import { complete, type Outcome, outcomeOf, release } from "./outcome.js";
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
    const job = newJob({ ...rest, kind, payload }, this.#seams.newId(), this.#seams);
    if (tx !== undefined) {
      const [answer] = await enqueueOn(tx, this.#seams, [job], wakes);
      return answer ?? { id: job.id, duplicate: false };
    }
    const answer = await this.#lane(job).add(job);
    this.#seams.events.emit("jobs:enqueued", {
      queue: this.name,
      count: 1,
      duplicates: answer.duplicate ? 1 : 0,
    });
    return answer;
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
    const checked = newJobs(jobs as readonly NewJobInput[], this.#seams.newId, this.#seams);
    if (checked.length === 0) return [];
    if (tx !== undefined) return await enqueueOn(tx, this.#seams, checked, wakes);
    const answers = await enqueueAll(this.#seams, checked, this.settings.strict);
    const duplicates = answers.filter((answer) => answer.duplicate).length;
    this.#seams.events.emit("jobs:enqueued", { queue: this.name, count: answers.length, duplicates });
    return answers;
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

  async stats(): Promise<QueueStats> {
    return await stats(this.#seams);
  }

  async list(filter: ListFilter = {}): Promise<readonly JobRecordOf<J>[]> {
    return (await list(
      this.#seams,
      withKnownNames("list()", filter, filterNames.list),
    )) as readonly JobRecordOf<J>[];
  }

  async get(id: string): Promise<JobRecordOf<J> | null> {
    return (await get(this.#seams, id)) as JobRecordOf<J> | null;
  }

  async why(id: string): Promise<Why> {
    return await why(this.#seams, id);
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
    await this.#seams.database.run(
      this.#seams.bind(pauseQueue, { name: this.name, now: this.#seams.clock.databaseNow() }),
    );
  }

  async resume(): Promise<void> {
    await this.#seams.database.run(this.#seams.bind(resumeQueue, { name: this.name }));
  }

  /** Changes what can be changed while the queue is at work; all else is fixed when it is created. Needs the rights of the owner. */
  async change(change: QueueChange): Promise<QueueSettings> {
    const settings = await changeQueue(this.#seams, change);
    this.#seams = { ...this.#seams, settings };
    return settings;
  }

  #lane(job: NewJob): EnqueueLane {
    return job.idempotencyKey === null ? this.#plainLane : this.#keyedLane;
  }

  async #settleOne(job: HeldJob, outcome: Outcome): Promise<boolean> {
    const [held] = await settle(this.#seams, [{ job: checkedHeld(job), outcome }]);
    return held === true;
  }
}

export type HeldJob = Pick<ClaimedJob, "id" | "workerId" | "fenceToken">;

/** An enqueue in a transaction of the user's. */
export interface InTransaction {
  readonly tx?: Tx;
  /** False for a transaction that is to be prepared (PREPARE TRANSACTION), which may not notify: workers find the jobs at their next poll. */
  readonly wake?: boolean;
}

function checkedWake(tx: Tx | undefined, wake: boolean | undefined): boolean {
  if (wake !== undefined && tx === undefined)
    throw new InvalidOptionError("wake", wake, "left out: it counts in a transaction of yours (tx) only");
  return flag("wake", wake, true);
}
