import type { Events } from "../events.js";
import type { QueueSettings } from "../work/queue-settings.js";
import { bucketsOf, buildRing, type Ring, type RingMember } from "./ring.js";
import type { Roster } from "./roster.js";

/** What a queue's stored settings say about its ring. */
export function ringOf(settings: QueueSettings, members: readonly RingMember[]): Ring {
  const { ring, vnodes, preferRegions, excludeRegions } = settings;
  return buildRing(members, settings.buckets, {
    ring,
    hash: "fnv1a-fmix32",
    vnodes,
    preferRegions,
    excludeRegions,
  });
}

/** The buckets that this worker should try, by the ring it has cached. It says who tries; the rows say who may. */
export class OwnedBuckets {
  readonly #events: Events;
  readonly #settings: QueueSettings;
  readonly #workerId: string;
  readonly #roster: Roster;
  #owned: readonly number[] = [];

  constructor(seams: { events: Events; settings: QueueSettings }, workerId: string, roster: Roster) {
    this.#events = seams.events;
    this.#settings = seams.settings;
    this.#workerId = workerId;
    this.#roster = roster;
  }

  get current(): readonly number[] {
    return this.#owned;
  }

  /** Builds the ring again from the roster. Returns the buckets that are new. */
  rebuild(): readonly number[] {
    const { name: queue } = this.#settings;
    const ring = ringOf(this.#settings, this.#roster.workersOf(queue));
    const owned = bucketsOf(ring, this.#workerId);
    const before = new Set(this.#owned);
    const gained = owned.filter((bucket) => !before.has(bucket));
    const lost = this.#owned.length - (owned.length - gained.length);
    this.#owned = owned;
    const workers = ring.members;
    if (gained.length > 0 || lost > 0) {
      const counts = { owned: owned.length, gained: gained.length, lost };
      this.#events.emit("ring:changed", { queue, workerId: this.#workerId, workers, ...counts });
    }
    return gained;
  }
}
