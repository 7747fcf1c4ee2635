import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import type { Ownership } from "./ownership.js";

export interface SupervisorSeams {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
  readonly ownership: Ownership;
  /** One round, if it is due and nobody else is at it; null for a process alone. */
  readonly housekeep: (() => Promise<unknown>) | null;
  /** Begins to handle signals; returns what ends that. */
  heedSignals(): () => void;
  /** Has close() stop this one; returns what takes that back. */
  attach(part: { stop(why: string): Promise<void> }): () => void;
}
