import { type Binder, binder } from "./database/bind.js";
import type { GuardedDatabase } from "./database/guarded-database.js";
import { migrate, step } from "./database/migrate.js";
import { grants } from "./database/migrations.generated.js";
import { checkQueueName, withNames } from "./database/names.js";
import { listQueues } from "./database/statements.generated.js";
import type { EventName, Events, Listener } from "./events.js";
import type { Clock } from "./seams/clock.js";
import type { Tx } from "./seams/database.js";
import type { Random } from "./seams/random.js";
import { defaults } from "./settings.js";
import { fence, once } from "./work/fence.js";
import { type HousekeepingReport, housekeep } from "./work/housekeeping.js";
import { jobIds } from "./work/job-id.js";
import { openQueue } from "./work/open-queue.js";
import { Queue } from "./work/queue.js";
import type { QueueOptions } from "./work/queue-settings.js";
import type { JobTypes } from "./work/typed-jobs.js";

export interface LeaseholdSeams {
  readonly database: GuardedDatabase;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

/** One connection to Leasehold: a schema in a database. Made by connect(). */
export class Leasehold {
  readonly schema: string;
  readonly #seams: LeaseholdSeams;
  readonly #bind: Binder;
  readonly #newId: () => string;

  constructor(seams: LeaseholdSeams, schema: string) {
    this.schema = schema;
    this.#seams = seams;
    this.#bind = binder({ schema, queue: defaults.queue });
    this.#newId = jobIds(seams.clock, seams.random);
  }

  /** Subscribes to an event of src/events.ts; returns what ends the subscription. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void {
    return this.#seams.events.on(name, listener);
  }

  /** Brings the schema up to date; safe when many processes start at once. Returns how many migrations ran. */
  async migrate(): Promise<number> {
    return await migrate(this.#seams, this.schema);
  }

  /** Creates the least-privilege roles <schema>_producer, _worker, _viewer and _operator, and gives them their rights. */
  async grant(): Promise<void> {
    const queues = await this.#seams.database.run(this.#bind(listQueues, {}));
    const names = { schema: this.schema, queue: defaults.queue };
    await step(this.#seams, names, "the grants", async (tx) => {
      await tx.query(withNames(grants.schema, names));
      for (const queue of queues)
        await tx.query(withNames(grants.queue, { schema: this.schema, queue: queue.name }));
    });
  }

  /** Opens a queue: creates it when an order is given and it does not exist, else checks that the settings agree. */
  async queue<J extends JobTypes = Record<string, unknown>>(
    name: string,
    options: QueueOptions = {},
  ): Promise<Queue<J>> {
    const names = { schema: this.schema, queue: checkQueueName(name) };
    const settings = await openQueue(this.#seams, names, options);
    return new Queue<J>({ ...this.#seams, settings, bind: binder(names), newId: this.#newId });
  }

  /** Runs work in one transaction on a connection of ours. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return await this.#seams.database.transaction(work);
  }

  /** One round of housekeeping, if no other process is at it. */
  async housekeep(): Promise<HousekeepingReport> {
    return await housekeep({ ...this.#seams, schema: this.schema });
  }

  /** Throws StaleFenceError when the resource has seen a higher token. Call it first in the transaction that writes. */
  async fence(tx: Tx, resource: string, token: bigint): Promise<void> {
    await fence(this.#bind, tx, resource, token);
  }

  /** False when this handler has handled the message before. */
  async once(tx: Tx, handler: string, messageId: string): Promise<boolean> {
    return await once(this.#bind, tx, handler, messageId);
  }

  async close(): Promise<void> {
    await this.#seams.database.close();
  }
}
