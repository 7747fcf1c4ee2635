/** A fresh place for one system's data: a database, or a Redis. */
export interface Store {
  readonly url: string;
  /** Brings it to rest before a measurement: statistics are taken and what is dirty is written out. */
  settle(): Promise<void>;
  drop(): Promise<void>;
}
