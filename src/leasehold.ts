import { type Binder, binder } from "./database/bind.js";
import { type DropQueueOptions, dropQueue, dropQueueOptionNames } from "./database/drop-queue.js";
import { grant } from "./database/grant.js";
import type { GuardedDatabase } from "./database/guarded-database.js";
import { migrate } from "./database/migrate.js";
import type { Library } from "./database/migration.js";
import { checkName, checkQueueName } from "./database/names.js";
import { InvalidOptionError, WorkerStateError } from "./errors.js";
import type { EventName, Events, Listener } from "./events.js";
import { checkedEventName } from "./log-events.js";
import { checkedWorkerId, type MemberSettings } from "./membership/member-settings.js";
import { Membership } from "./membership/membership.js";
import { ringOf } from "./membership/owned-buckets.js";
import type { Ring } from "./membership/ring.js";
import { type AuditReport, auditQueues } from "./operate/audit.js";
import { evict, isLiveOn, listWorkers, type WorkerRow } from "./operate/workers.js";
import { withKnownNames } from "./option-names.js";
import { StopOnSignal } from "./runtime/stop-on-signal.js";
import type { Clock } from "./seams/clock.js";
import type { Tx } from "./seams/database.js";
import type { ProcessSignals } from "./seams/process-signals.js";
import type { Random } from "./seams/random.js";
import type { Sessions } from "./seams/session.js";
import { asFunction, defaults, version } from "./settings.js";
import { fence, once } from "./work/fence.js";
import { checkedHandlers, type Handlers } from "./work/handlers.js";
import { type HousekeepingReport, housekeep } from "./work/housekeeping.js";
import { jobIds } from "./work/job-id.js";
import { openQueue } from "./work/open-queue.js";
import { Queue } from "./work/queue.js";
import type { QueueSeams } from "./work/queue-seams.js";
import { type QueueOptions, queueOptionNames } from "./work/queue-settings.js";
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
  /** Another version's SQL, for tests. */
  readonly library?: Library;
}

/** What the other entries of the package need of a connection. */
export interface Surroundings extends LeaseholdSeams {
  readonly bind: Binder;
  readonly membership: Membership;
  /** Something that close() and signals have to stop; one of each name. Returns what takes it back. */
  attach(name: string, part: { stop(why: string): Promise<void> }): () => void;
  heedSignals(): () => void;
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
  readonly #bind: Binder;
  readonly #newId: () => string;
  readonly #membership: Membership;
  readonly #workers = new Map<string, Worker>();
  readonly #attached = new Map<string, { stop(why: string): Promise<void> }>();

  constructor(seams: LeaseholdSeams, schema: string, member: MemberSettings) {
    this.schema = schema;
    this.#seams = seams;
    this.#bind = binder({ schema, queue: defaults.queue });
    this.#newId = jobIds(seams.clock, seams.random);
    this.#membership = new Membership({ ...seams, bind: this.#bind }, member, version);
    surroundings.set(this, {
      ...seams,
      bind: this.#bind,
      membership: this.#membership,
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
      kinds,
      settings,
      open: () => this.#open(name, {}),
      heedSignals: () => this.#heedSignals(),
    });
    this.#workers.set(name, worker);
    return worker;
  }

  /** The registry: everybody who is or was lately a worker. */
  async workers(): Promise<readonly WorkerRow[]> {
    return await listWorkers({ ...this.#seams, bind: this.#bind });
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

  /** Runs work in one transaction on a connection of ours. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return await this.#seams.database.transaction(asFunction("work", work));
  }

  /** One round of housekeeping, if no other process is at it. */
  async housekeep(): Promise<HousekeepingReport> {
    return await housekeep({ ...this.#seams, schema: this.schema });
  }

  /** Asks the rows of every queue whether the promises hold, and names those that break one. Changes nothing; cheap enough for every minute. */
  async audit(): Promise<AuditReport> {
    return await auditQueues({ ...this.#seams, schema: this.schema });
  }

  /** Throws StaleFenceError when the resource has seen a higher token. Call it first in the transaction that writes. */
  async fence(tx: Tx, resource: string, token: bigint): Promise<void> {
    await fence({ bind: this.#bind, clock: this.#seams.clock }, tx, resource, token);
  }

  /** False when this handler has handled the message before. */
  async once(tx: Tx, handler: string, messageId: string): Promise<boolean> {
    return await once({ bind: this.#bind, clock: this.#seams.clock }, tx, handler, messageId);
  }

  /** Drains the workers and supervisors of this process and ends its connections. */
  async close(): Promise<void> {
    await this.#stopWorkers("the connection is closed");
    await this.#seams.database.close();
  }

  #attach(name: string, part: { stop(why: string): Promise<void> }): () => void {
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
    const settings = await openQueue(this.#seams, names, options);
    return { ...this.#seams, settings, bind: binder(names), newId: this.#newId };
  }

  async #stopAll(signal: string): Promise<void> {
    await this.#stopWorkers(signal);
    await this.#seams.database.close();
  }

  async #stopWorkers(why: string): Promise<void> {
    const parts = [...this.#workers.values(), ...this.#attached.values()];
    await Promise.all(parts.map((part) => part.stop(why)));
  }
}
