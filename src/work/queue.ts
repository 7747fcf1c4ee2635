import { pauseQueue, resumeQueue } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import type { JobFilter, ListFilter } from "../operate/job-filter.js";
import { get, list } from "../operate/list.js";
import { discard, type Progress, retry } from "../operate/redrive.js";
import { type QueueStats, stats } from "../operate/stats.js";
import { type Why, why } from "../operate/why.js";
import type { Tx } from "../seams/database.js";
import { asObject, defaults } from "../settings.js";
import { type Bookmarks, claim, newBookmarks } from "./claim.js";
import type { ClaimOptions } from "./claim-options.js";
import { type Enqueued, enqueueAll, enqueueOn } from "./enqueue.js";
import { EnqueueLane } from "./enqueue-lane.js";
import type { ClaimedJob } from "./job.js";
import { checkTotal, type EnqueueOptions, type NewJob, type NewJobInput, newJob } from "./new-job.js";
import { complete, type Outcome, outcomeOf, release } from "./outcome.js";
import type { QueueSeams } from "./queue-seams.js";
import type { QueueSettings } from "./queue-settings.js";
import { announceLost, type Renewal, renew } from "./renew.js";
import { settle } from "./settle.js";
import type { Settlement } from "./settlement.js";
import type { ClaimedJobOf, JobInput, JobRecordOf, JobTypes, KindOf } from "./typed-jobs.js";

/** One queue, by hand. The worker loop uses the same verbs. */
export class Queue<J extends JobTypes = Record<string, unknown>> {
  readonly #seams: QueueSeams;
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
    options: EnqueueOptions & { readonly tx?: Tx } = {},
  ): Promise<Enqueued> {
    const { tx, ...rest } = asObject("options", options);
    const job = this.#newJob({ ...rest, kind, payload });
    if (tx !== undefined) return await this.#enqueueOn(tx, job);
    const answer = await this.#lane(job).add(job);
    this.#seams.events.emit("jobs:enqueued", {
      queue: this.name,
      count: 1,
      duplicates: answer.duplicate ? 1 : 0,
    });
    return answer;
  }

  /** Adds many jobs, all or none, in the order given. */
  async enqueueMany(
    jobs: readonly JobInput<J>[],
    options: { readonly tx?: Tx } = {},
  ): Promise<readonly Enqueued[]> {
    const { tx } = asObject("options", options);
    if (!Array.isArray(jobs) || jobs.length > defaults.enqueueManyRowsMax) {
      throw new InvalidOptionError(
        "jobs",
        jobs?.length,
        `an array of at most ${defaults.enqueueManyRowsMax} jobs`,
      );
    }
    const checked = jobs.map((job: NewJobInput) => this.#newJob(job));
    checkTotal(checked);
    if (checked.length === 0) return [];
    if (tx !== undefined) return await enqueueOn(tx, this.#seams, checked);
    const answers = await enqueueAll(this.#seams, checked, this.settings.strict);
    const duplicates = answers.filter((answer) => answer.duplicate).length;
    this.#seams.events.emit("jobs:enqueued", { queue: this.name, count: answers.length, duplicates });
    return answers;
  }

  /** Takes jobs from the front of their lines, with a lease on each. */
  async claim(options: ClaimOptions): Promise<readonly ClaimedJobOf<J>[]> {
    const { jobs } = await claim(this.#seams, this.#bookmarks, asObject("options", options));
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
    return await settle(this.#seams, settlements);
  }

  async renew(job: HeldJob, leaseMs?: number): Promise<Renewal> {
    const [renewal = { id: job.id, state: "lost" as const }] = await renew(this.#seams, [job], leaseMs);
    if (renewal.state === "lost") announceLost(this.#seams, job);
    return renewal;
  }

  async stats(): Promise<QueueStats> {
    return await stats(this.#seams);
  }

  async list(filter: ListFilter = {}): Promise<readonly JobRecordOf<J>[]> {
    return (await list(this.#seams, asObject("filter", filter))) as readonly JobRecordOf<J>[];
  }

  async get(id: string): Promise<JobRecordOf<J> | null> {
    return (await get(this.#seams, id)) as JobRecordOf<J> | null;
  }

  async why(id: string): Promise<Why> {
    return await why(this.#seams, id);
  }

  async retry(filter: JobFilter = {}, progress?: Progress): Promise<number> {
    return await retry(this.#seams, asObject("filter", filter), progress);
  }

  async discard(filter: JobFilter & { readonly reason?: string }, progress?: Progress): Promise<number> {
    return await discard(this.#seams, asObject("filter", filter), progress);
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

  #newJob(input: NewJobInput): NewJob {
    return newJob(input, this.#seams.newId(), { settings: this.#seams.settings, events: this.#seams.events });
  }

  #lane(job: NewJob): EnqueueLane {
    return job.idempotencyKey === null ? this.#plainLane : this.#keyedLane;
  }

  async #enqueueOn(tx: Tx, job: NewJob): Promise<Enqueued> {
    const [answer] = await enqueueOn(tx, this.#seams, [job]);
    return answer ?? { id: job.id, duplicate: false };
  }

  async #settleOne(job: HeldJob, outcome: Outcome): Promise<boolean> {
    const [held] = await settle(this.#seams, [{ job, outcome }]);
    return held === true;
  }
}

export type HeldJob = Pick<ClaimedJob, "id" | "workerId" | "fenceToken">;
