import type { Events } from "../events.js";
import type { QueueSettings } from "../work/queue-settings.js";
import { bucketsOf, buildRing, type Ring, type RingMember, type RingSettings } from "./ring.js";
import type { Roster } from "./roster.js";
import { type SkilledMember, secondOwners } from "./second-owners.js";

type RingOptions = Pick<QueueSettings, "ring" | "vnodes" | "preferRegions" | "excludeRegions" | "buckets">;

/** What a queue's stored settings say about its ring. */
export function ringOf(settings: RingOptions, members: readonly RingMember[]): Ring {
  return buildRing(members, settings.buckets, ringSettings(settings));
}

function ringSettings({ ring, vnodes, preferRegions, excludeRegions }: RingOptions): RingSettings {
  return { ring, hash: "fnv1a-fmix32", vnodes, preferRegions, excludeRegions };
}

/** The buckets of a worker: those it owns, and those whose owner lacks a kind that it has. */
export function triedBy(
  settings: RingOptions,
  ring: Ring,
  members: readonly SkilledMember[],
  workerId: string,
): readonly number[] {
  const owned = bucketsOf(ring, workerId);
  const second = secondOwners(ring, members, ringSettings(settings)).get(workerId);
  return second === undefined ? owned : [...new Set([...owned, ...second])].sort((a, b) => a - b);
}

/** The buckets that this worker should try, by the ring it has cached. It says who tries; the rows say who may. */
export class OwnedBuckets {
  readonly #events: Events;
  readonly #settings: QueueSettings;
  readonly #workerId: string;
  readonly #roster: Roster;
  #owned: readonly number[] = [];
  #members: readonly string[] = [];

  constructor(seams: { events: Events; settings: QueueSettings }, workerId: string, roster: Roster) {
    this.#events = seams.events;
    this.#settings = seams.settings;
    this.#workerId = workerId;
    this.#roster = roster;
  }

  /** Another list whenever they change. */
  get current(): readonly number[] {
    return this.#owned;
  }

  /** The buckets that this worker would own if it were in the ring. */
  ifCounted(region: string | null): readonly number[] {
    const others = this.#roster.workersOf(this.#settings.name).filter(({ id }) => id !== this.#workerId);
    return bucketsOf(ringOf(this.#settings, [...others, { id: this.#workerId, region }]), this.#workerId);
  }

  /** Builds the ring again from the roster. Returns the buckets that are new. */
  rebuild(): readonly number[] {
    const { name: queue } = this.#settings;
    const members = this.#roster.skilledOn(queue);
    const ring = ringOf(this.#settings, members);
    const owned = triedBy(this.#settings, ring, members, this.#workerId);
    const gained = without(owned, this.#owned);
    const lost = without(this.#owned, owned);
    const workers = ring.members;
    const [joined, left] = [without(workers, this.#members), without(this.#members, workers)];
    this.#members = workers;
    if (gained.length === 0 && lost.length === 0) return gained;
    this.#owned = owned;
    const counts = { owned: owned.length, gained: gained.length, lost: lost.length };
    const moved = { gainedBuckets: gained, lostBuckets: lost, joined, left };
    this.#events.emit("ring:changed", { queue, workerId: this.#workerId, workers, ...counts, ...moved });
    return gained;
  }
}

function without<T>(all: readonly T[], some: readonly T[]): readonly T[] {
  const set = new Set(some);
  return all.filter((one) => !set.has(one));
}
