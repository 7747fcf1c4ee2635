import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { recordHistory } from "../database/statements.generated.js";
import type { EventMap, Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import { defaults } from "../settings.js";
import { storableText } from "../work/json.js";

export interface RecorderSeams {
  readonly database: GuardedDatabase;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly events: Events;
}

interface NewEntry {
  readonly kind: string;
  readonly queue: string;
  readonly worker_id: string;
  count?: number;
  readonly detail: Record<string, unknown>;
}

/**
 * Writes to the history what only this process sees: buckets that it gained or lost, jobs that it lost, and that its work fails. What accumulates while a write is under way goes with the
 * next one. Nothing waits for it, and what can't be written is dropped: the history explains, the rows decide.
 */
export class HistoryRecorder {
  readonly #seams: RecorderSeams;
  readonly #workerId: string;
  readonly #subscriptions: (() => void)[] = [];
  #entries: NewEntry[] = [];
  #dropped = 0;
  #writing: Promise<void> | null = null;

  constructor(seams: RecorderSeams, workerId: string) {
    this.#seams = seams;
    this.#workerId = workerId;
  }

  /** Listens from now on; calling it again changes nothing. */
  start(): void {
    if (this.#subscriptions.length > 0) return;
    const { events } = this.#seams;
    this.#subscriptions.push(
      events.on("ring:changed", (event) => this.#noteRing(event)),
      events.on("lease:lost", (event) => this.#noteLost(event)),
      events.on("worker:failing", ({ queue, what, error }) => {
        const reason = storableText(String(error), defaults.failingReasonMax);
        this.#add({ kind: "worker:failing", queue, detail: { what, reason } });
      }),
      events.on("worker:recovered", ({ queue, what }) =>
        this.#add({ kind: "worker:recovered", queue, detail: { what } }),
      ),
    );
  }

  /** What is known by now is written, or dropped. */
  async stop(): Promise<void> {
    for (const end of this.#subscriptions.splice(0)) end();
    await this.#writing;
  }

  #noteRing({ queue, workerId, gainedBuckets, lostBuckets, joined, left }: EventMap["ring:changed"]): void {
    if (workerId !== this.#workerId) return;
    const detail = { gained: gainedBuckets, lost: lostBuckets, joined, left };
    const count = gainedBuckets.length + lostBuckets.length;
    this.#add({ kind: "buckets:moved", queue, count, detail });
  }

  /** Jobs that are lost together are one entry, with some of their ids. */
  #noteLost({ queue, id, during }: EventMap["lease:lost"]): void {
    const last = this.#entries.at(-1);
    if (last?.kind === "lease:lost" && last.queue === queue && last.detail.during === during) {
      last.count = (last.count ?? 0) + 1;
      const ids = last.detail.ids as string[];
      if (ids.length < defaults.historyIdsMax) ids.push(id);
    } else this.#add({ kind: "lease:lost", queue, count: 1, detail: { during, ids: [id] } });
  }

  #add(entry: Omit<NewEntry, "worker_id">): void {
    if (this.#entries.length >= defaults.historyWaitingMax) {
      this.#dropped++;
      return;
    }
    this.#entries.push({ ...entry, worker_id: this.#workerId });
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
  }

  async #write(): Promise<void> {
    const { database, bind, clock, events } = this.#seams;
    await clock.sleep(0); // Whatever happens together goes together.
    while (this.#entries.length > 0) {
      const entries = this.#entries;
      this.#entries = [];
      let [lost, reason]: [number, unknown] = [0, new Error(`${defaults.historyWaitingMax} were waiting`)];
      try {
        const query = bind(recordHistory, { entries: JSON.stringify(entries), now: clock.databaseNow() });
        await database.run({ ...query, triesMax: defaults.workerTriesMax });
      } catch (error) {
        [lost, reason] = [entries.length, error];
      }
      lost += this.#dropped;
      this.#dropped = 0;
      if (lost > 0) events.emit("history:dropped", { entries: lost, error: reason });
    }
  }
}
