import type { News } from "./messages.js";

export interface Entry extends News {
  readonly atMs: number;
  /** How many there were of its topic, one after the other; the last one is told. */
  readonly times: number;
}

const entriesMax = 50;

/** What happened, in words, newest last. */
export class Journal {
  readonly #entries: Entry[] = [];
  onEntry: (entry: Entry) => void = () => {};

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  add(tone: News["tone"], words: string): void {
    this.tell({ tone, words });
  }

  tell({ tone, words, topic = words }: News): void {
    const last = this.#entries.at(-1);
    const isMore = last?.topic === topic;
    if (isMore) this.#entries.pop();
    const times = isMore ? last.times + 1 : 1;
    const entry = Object.freeze({ atMs: Date.now(), tone, words, topic, times });
    this.#entries.push(entry);
    if (this.#entries.length > entriesMax) this.#entries.shift();
    this.onEntry(entry);
  }
}
