import { BenchChild } from "./child-process.js";
import type { PostgresStores } from "./stores/postgres-stores.js";
import { openRedis, type RedisSource } from "./stores/redis-stores.js";
import type { Store } from "./stores/store.js";
import type { SystemKind, Variant } from "./systems/system.js";

export interface Stores {
  readonly postgres: PostgresStores;
  readonly redis: RedisSource;
}

/** One system at one workload: hands out stores and processes, and puts them away at the end. */
export class Cell {
  readonly system: SystemKind;
  readonly variant: Variant;
  readonly stores: Stores;
  readonly #scale: number;
  readonly #opened: Store[] = [];
  readonly #children: BenchChild[] = [];
  #isEnded = false;

  constructor(stores: Stores, what: { system: SystemKind; variant: Variant }, scale: number) {
    this.stores = stores;
    this.system = what.system;
    this.variant = what.variant;
    this.#scale = scale;
  }

  /** A size or a time, by the factor that the user gave. */
  scaled(full: number): number {
    return Math.max(1, Math.round(full * this.#scale));
  }

  async openStore(): Promise<Store> {
    const { postgres, redis } = this.stores;
    const { store: kind } = this.system;
    const store = kind === "postgres" ? await postgres.open() : await openRedis(redis, kind);
    this.#opened.push(store);
    if (this.#isEnded) await store.drop();
    this.#checkOpen();
    return store;
  }

  /** A process with the system open in it. */
  async spawn(store: Store): Promise<BenchChild> {
    this.#checkOpen();
    const child = new BenchChild();
    this.#children.push(child);
    await child.open(this.system, this.variant, store.url);
    return child;
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all(this.#children.map((child) => child.kill()));
    for (const store of this.#opened) await store.drop();
  }

  #checkOpen(): void {
    if (this.#isEnded) throw new Error("The measurement was broken off.");
  }
}
