import type { Events } from "../events.js";
import { defaults } from "../settings.js";

interface Seen {
  readonly generation: bigint;
  readonly atMs: number;
}

/** Notices workers whose generation rises fast: they start, crash and start again. */
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

  note(members: readonly { readonly id: string; readonly generation: bigint }[], nowMs: number): void {
    const looping = new Set<string>();
    for (const { id, generation } of members) {
      const seen = (this.#seen.get(id) ?? []).filter(({ atMs }) => nowMs - atMs <= defaults.loopingMs);
      if (seen.at(-1)?.generation !== generation) seen.push({ generation, atMs: nowMs });
      this.#seen.set(id, seen.slice(-defaults.loopingGenerations - 1));
      const restarts = Number(generation - (seen[0]?.generation ?? generation));
      if (restarts < defaults.loopingGenerations) continue;
      looping.add(id);
      if (!this.#looping.has(id)) this.#events.emit("worker:looping", { workerId: id, generation, restarts });
    }
    for (const [id, seen] of this.#seen)
      if (nowMs - (seen.at(-1)?.atMs ?? 0) > defaults.loopingMs) this.#seen.delete(id);
    this.#looping = looping;
  }
}
