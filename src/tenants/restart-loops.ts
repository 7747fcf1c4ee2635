import type { Events } from "../events.js";
import { defaults } from "../settings.js";
import type { Registration } from "./ownership.js";

interface Seen {
  readonly starts: bigint;
  readonly atMs: number;
}

/** Notices workers that start, crash and start again. A process that registers again (it was evicted, its session broke) has not started. */
export class RestartLoops {
  readonly #events: Events;
  readonly #seen = new Map<string, Seen[]>();
  #looping: ReadonlySet<string> = new Set();

  constructor(events: Events) {
    this.#events = events;
  }

  get current(): readonly string[] {
    return [...this.#looping];
  }

  note(workers: readonly Registration[], nowMs: number): void {
    const looping = new Set<string>();
    for (const { id, starts, generation } of workers) {
      const seen = (this.#seen.get(id) ?? []).filter(({ atMs }) => nowMs - atMs <= defaults.loopingMs);
      if (seen.at(-1)?.starts !== starts) seen.push({ starts, atMs: nowMs });
      this.#seen.set(id, seen.slice(-defaults.loopingStarts - 1));
      const restarts = Number(starts - (seen[0]?.starts ?? starts));
      if (restarts < defaults.loopingStarts) continue;
      looping.add(id);
      if (!this.#looping.has(id)) this.#events.emit("worker:looping", { workerId: id, generation, restarts });
    }
    for (const [id, seen] of this.#seen)
      if (nowMs - (seen.at(-1)?.atMs ?? 0) > defaults.loopingMs) this.#seen.delete(id);
    this.#looping = looping;
  }
}
