import { type Binder, binder } from "./database/bind.js";
import { type DropQueueOptions, dropQueue, dropQueueOptionNames } from "./database/drop-queue.js";
import { grant } from "./database/grant.js";
import type { GuardedDatabase } from "./database/guarded-database.js";
import { migrate } from "./database/migrate.js";
import type { Library } from "./database/migration.js";
import { type PlannedMigration, planMigrations } from "./database/migration-plan.js";
import { checkName, checkQueueName } from "./database/names.js";
import { primaryReader, type Reader } from "./database/reader.js";
import type { Replica, ReplicaStatus } from "./database/replica.js";
import { InvalidOptionError, WorkerStateError } from "./errors.js";
import type { EventName, Events, Listener } from "./events.js";
import { type HistoryEntry, type HistoryFilter, readHistory } from "./history/read.js";
import { HistoryRecorder } from "./history/recorder.js";
import { checkedEventName } from "./log-events.js";
import { checkedWorkerId, type MemberSettings } from "./membership/member-settings.js";
import { Membership } from "./membership/membership.js";
import { ringOf } from "./membership/owned-buckets.js";
import type { Ring } from "./membership/ring.js";
import { type AuditReport, auditQueues } from "./operate/audit.js";
import { drain } from "./operate/drain.js";
import { checkHealth, type HealthReport } from "./operate/health.js";
import { previewRing, type RingChange, type RingPreview, ringChangeNames } from "./operate/preview-ring.js";
import { listQueues, type QueueSummary } from "./operate/queues.js";
import { type RunbookAnswer, type RunbookOptions, runbookRequest, runRunbook } from "./operate/runbook.js";
import { listQueueSamples, type QueueSample, type SampleRange, sampleRangeNames } from "./operate/samples.js";
import { listTenants, type TenantFilter, type TenantRow, tenantFilterNames } from "./operate/tenants.js";
import { evict, isLiveOn, listWorkers, type WorkerRow } from "./operate/workers.js";
import { withKnownNames } from "./option-names.js";
import { Deadline } from "./runtime/deadline.js";
import { StopOnSignal } from "./runtime/stop-on-signal.js";
import type { Clock } from "./seams/clock.js";
import type { OpenTx, Tx } from "./seams/database.js";
import type { ProcessSignals } from "./seams/process-signals.js";
import type { Random } from "./seams/random.js";
import type { Sessions } from "./seams/session.js";
import { asFunction, defaults, version } from "./settings.js";
import { fence, once } from "./work/fence.js";
import { checkedHandlers, type Handlers } from "./work/handlers.js";
import { durationBoundsMs, Histogram } from "./work/histogram.js";
import { Hooks } from "./work/hooks.js";
import { type HousekeepingReport, housekeep } from "./work/housekeeping.js";
import { jobIds } from "./work/job-id.js";
import { openQueue } from "./work/open-queue.js";
import { Queue } from "./work/queue.js";
import { type QueueOptions, queueOptionNames } from "./work/queue-options.js";
import type { QueueSeams } from "./work/queue-seams.js";
import type { JobTypes } from "./work/typed-jobs.js";
import { Worker } from "./work/worker.js";
import { type WorkerOptions, workerSettings } from "./work/worker-settings.js";

export interface LeaseholdSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly sessions: Sessions;
  readonly signals: ProcessSignals;
  /** The connections of the pool: all, idle, and how many wait for one. Left out where there is no pool. */
  poolCounts?(): { readonly total: number; readonly idle: number; readonly waiting: number };
  /** Another version's SQL, for tests. */
  readonly library?: Library;
  /** What answers lists, counts and charts, where there is one. */
  readonly replica?: Replica;
}

/** What the other entries of the package need of a connection. */
export interface Surroundings extends LeaseholdSeams {
  readonly bind: Binder;
  readonly membership: Membership;
  /** What is done around every enqueue and every handler of this connection. */
  readonly hooks: Hooks;
  /** How long the rounds of housekeeping of this process took, in ms. */
  readonly housekeeping: Histogram;
  /** The workers of this process that have been made and not stopped. */
  workers(): readonly Worker[];
  /** What attach() was given and is still there, by name. */
  attached(): ReadonlyMap<string, AttachedPart>;
  /** One of each name. Returns what takes it back. */
  attach(name: string, part: AttachedPart): () => void;
  heedSignals(): () => void;
}

/** Something that close() and signals have to stop. */
export interface AttachedPart {
  stop(why: string): Promise<void>;
  /** True for what watches the work: it is stopped when the work has ended. */
  readonly isWatching?: boolean;
}

const surroundings = new WeakMap<Leasehold, Surroundings>();

export function surroundingsOf(lh: Leasehold): Surroundings {
  const found = surroundings.get(lh);
  if (found === undefined) throw new InvalidOptionError("lh", lh, "what connect() resolved with");
  return found;
}

/** One connection to Leasehold: a schema in a database. Made by connect(). */
export class Leasehold {
  readonly schema: string;
  readonly #seams: LeaseholdSeams;
  readonly #reads: Reader;
  readonly #bind: Binder;
  readonly #newId: () => string;
  readonly #membership: Membership;
  readonly #history: HistoryRecorder;
  readonly #hooks = new Hooks();
  readonly #workers = new Map<string, Worker>();
  readonly #attached = new Map<string, AttachedPart>();

  constructor(seams: LeaseholdSeams, schema: string, member: MemberSettings) {
    this.schema = schema;
    this.#seams = seams;
    this.#reads = seams.replica ?? primaryReader(seams.database);
    this.#bind = binder({ schema, queue: defaults.queue });
    this.#newId = jobIds(seams.clock, seams.random);
    this.#membership = new Membership({ ...seams, bind: this.#bind }, member, version);
    this.#history = new HistoryRecorder({ ...seams, bind: this.#bind }, member.id);
    surroundings.set(this, {
      ...seams,
      bind: this.#bind,
      membership: this.#membership,
      hooks: this.#hooks,
      housekeeping: housekeepingOf(seams.events),
      workers: () => [...this.#workers.values()].filter(({ state }) => state !== "stopped"),
      attached: () => this.#attached,
      attach: (name, part) => this.#attach(name, part),
      heedSignals: () => this.#heedSignals(),
    });
  }

  /** Who this process is in the registry, once it has a worker. */
  get workerId(): string {
    return this.#membership.settings.id;
  }

  /** Subscribes to an event of src/events.ts; returns what ends the subscription. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void {
    return this.#seams.events.on(checkedEventName(name), asFunction("listener", listener));
  }

  /** Brings the schema up to date; safe when many processes start at once. Returns how many migrations ran. */
  async migrate(): Promise<number> {
    return await migrate(this.#seams, this.schema);
  }

  /** What migrate() would run now, in its order. Changes nothing. */
  async plan(): Promise<readonly PlannedMigration[]> {
    return await planMigrations(this.#seams, this.schema);
  }

  /** Creates the least-privilege roles <schema>_producer, _worker, _viewer and _operator, and gives them their rights. */
  async grant(): Promise<void> {
    await grant(this.#seams, this.schema);
  }

  /** Opens a queue: creates it when an order is given and it does not exist, else checks that the settings agree. */
  async queue<J extends JobTypes = Record<string, unknown>>(
    name: string,
    options: QueueOptions = {},
  ): Promise<Queue<J>> {
    const checked = withKnownNames("lh.queue()", options, queueOptionNames);
    return new Queue<J>(await this.#open(checkQueueName(name), checked));
  }

  /** Every queue of the schema by name, with its stored settings. */
  async queues(): Promise<readonly QueueSummary[]> {
    return await listQueues({ ...this.#seams, bind: this.#bind });
  }

  /** The counts of a queue that housekeeping has stored over the last week, oldest first. */
  async samples(queue: string, range: SampleRange = {}): Promise<readonly QueueSample[]> {
    const checked = withKnownNames("lh.samples()", range, sampleRangeNames);
    return await listQueueSamples(await this.#open(checkQueueName(queue), {}), checked);
  }

  /** Drops a queue with its jobs, archive and functions. Refused while it has jobs or live workers, unless `force` is given. */
  async dropQueue(name: string, options: DropQueueOptions = {}): Promise<void> {
    const names = { schema: this.schema, queue: checkName("queue", name) };
    await dropQueue(this.#seams, names, withKnownNames("lh.dropQueue()", options, dropQueueOptionNames));
  }

  /**
   * A worker on a queue, one for each queue and process. It does nothing until start(). The kinds and payloads are those of the queue's type (NoInfer: the
   * handlers do not add to it), or any when it has none.
   */
  worker<J extends JobTypes = Record<string, unknown>>(
    queue: string | Queue<J>,
    handlers: Handlers<NoInfer<J>>,
    options: WorkerOptions = {},
  ): Worker {
    const name = checkQueueName(typeof queue === "object" && queue !== null ? queue.name : queue);
    const settings = workerSettings(options);
    const kinds = checkedHandlers(handlers, settings.handlerTimeoutMs);
    const before = this.#workers.get(name);
    if (before !== undefined && before.state !== "stopped") {
      throw new WorkerStateError(
        `This process has a worker on ${name} already. Give it all the handlers, or connect again under another workerId.`,
      );
    }
    const worker = new Worker(name, this.#seams.events, {
      membership: this.#membership,
      clock: this.#seams.clock,
      kinds,
      settings,
      open: () => this.#open(name, {}),
      heedSignals: () => this.#heedSignals(),
    });
    this.#workers.set(name, worker);
    this.#history.start();
    return worker;
  }

  /** The registry: everybody who is or was lately a worker. */
  async workers(): Promise<readonly WorkerRow[]> {
    return await listWorkers({ ...this.#seams, bind: this.#bind });
  }

  /** Hot tenants of all supervisors, by name, and who runs them. */
  async tenants(filter: TenantFilter = {}): Promise<readonly TenantRow[]> {
    const checked = withKnownNames("lh.tenants()", filter, tenantFilterNames);
    return await listTenants({ ...this.#seams, bind: this.#bind }, checked);
  }

  /** Asks a worker of any process to stop in good order; its next heartbeat, within 10 s, finds the request. Other workers of that process stop too. */
  async drain(workerId: string): Promise<void> {
    await drain({ ...this.#seams, bind: this.#bind }, checkedWorkerId(workerId));
  }

  /** Marks a worker dead: its buckets move and its rows are taken over. One that lives registers again by itself. */
  async evict(workerId: string): Promise<void> {
    await evict({ ...this.#seams, bind: this.#bind }, checkedWorkerId(workerId));
  }

  /** Who owns which bucket of a queue, as a worker that looked now would see it. */
  async ring(queue: string): Promise<Ring> {
    const { settings } = await this.#open(checkQueueName(queue), {});
    return ringOf(
      settings,
      (await this.workers()).filter((worker) => isLiveOn(worker, settings.name)),
    );
  }

  /** What the ring of a queue would become if workers came or went: before, after, and the buckets that would move. */
  async previewRing(queue: string, change: RingChange): Promise<RingPreview> {
    const checked = withKnownNames("lh.previewRing()", change, ringChangeNames);
    return await previewRing(await this.#open(checkQueueName(queue), {}), checked);
  }

  /** Runs work in one transaction on a connection of ours. */
  async transaction<T>(work: (tx: OpenTx) => Promise<T>): Promise<T> {
    return await this.#seams.database.transaction(asFunction("work", work));
  }

  /** Whether this process lives and can do its work; asks the database once. For the handlers of probes: healthHandler() of leasehold/metrics. */
  async health(): Promise<HealthReport> {
    return await checkHealth(surroundingsOf(this));
  }

  /** Whether the server behind replicaUrl is used, and how far it is behind. Null without replicaUrl. */
  async replica(): Promise<ReplicaStatus | null> {
    return (await this.#seams.replica?.status()) ?? null;
  }

  /** One round of housekeeping, if no other process is at it. */
  async housekeep(): Promise<HousekeepingReport> {
    return await housekeep({ ...this.#seams, schema: this.schema });
  }

  /** Asks the rows of every queue whether the promises hold, and names those that break one. Changes nothing; cheap enough for every minute. */
  async audit(): Promise<AuditReport> {
    return await auditQueues({ ...this.#seams, schema: this.schema });
  }

  /** What happened to the fleet and to queues in the last week, newest first. */
  async history(filter: HistoryFilter = {}): Promise<readonly HistoryEntry[]> {
    return await readHistory({ reads: this.#reads, bind: this.#bind }, filter);
  }

  /** Runs a support query of the runbook, read-only, by its name: `lh.runbook("line-of-key", { queue: "inbox", key: "order:9182" })`. */
  async runbook(name: string, options: RunbookOptions = {}): Promise<RunbookAnswer> {
    const request = runbookRequest(name, options);
    if (request.isOfQueue) await this.#open(request.queue, {});
    return await runRunbook({ ...this.#seams, schema: this.schema }, request);
  }

  /** Throws StaleFenceError when the resource has seen a higher token. Call it first in the transaction that writes. */
  async fence(tx: Tx, resource: string, token: bigint): Promise<void> {
    await fence({ ...this.#seams, bind: this.#bind }, tx, resource, token);
  }

  /** False when this handler has handled the message before. */
  async once(tx: Tx, handler: string, messageId: string): Promise<boolean> {
    return await once({ ...this.#seams, bind: this.#bind }, tx, handler, messageId);
  }

  /** Drains the workers and supervisors of this process and ends its connections. */
  async close(): Promise<void> {
    await this.#stopWorkers("the connection is closed");
    await this.#closeConnections();
  }

  #attach(name: string, part: AttachedPart): () => void {
    if (this.#attached.has(name))
      throw new WorkerStateError(
        `This process has ${name} already. Stop it first, or give this one another name.`,
      );
    this.#attached.set(name, part);
    return () => this.#attached.delete(name);
  }

  #heedSignals(): () => void {
    return StopOnSignal.of(this.#seams.signals).heed((signal) => this.#stopAll(signal));
  }

  async #open(name: string, options: QueueOptions): Promise<QueueSeams> {
    const names = { schema: this.schema, queue: name };
    const opened = await openQueue(this.#seams, names, options);
    const own = { reads: this.#reads, newId: this.#newId, hooks: this.#hooks };
    return { ...this.#seams, ...own, ...opened, bind: binder(names) };
  }

  async #closeConnections(): Promise<void> {
    await Promise.all([this.#seams.database.close(), this.#seams.replica?.close()]);
  }

  async #stopAll(signal: string): Promise<void> {
    await this.#stopWorkers(signal);
    await this.#closeConnections();
  }

  async #stopWorkers(why: string): Promise<void> {
    const attached = [...this.#attached.values()];
    const watching = attached.filter(({ isWatching }) => isWatching === true);
    const working = attached.filter((part) => !watching.includes(part));
    await Promise.all([...this.#workers.values(), ...working].map((part) => part.stop(why)));
    await Promise.all(watching.map((part) => part.stop(why)));
    await new Deadline(this.#seams.clock, defaults.closeWaitMs).wait(this.#history.stop());
  }
}

function housekeepingOf(events: Events): Histogram {
  const tookMs = new Histogram(durationBoundsMs);
  events.on("housekeeping:finished", (round) => tookMs.record(round.tookMs));
  return tookMs;
}
