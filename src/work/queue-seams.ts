import type { Binder } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import type { Library } from "../database/migration.js";
import type { Reader } from "../database/reader.js";
import type { Events } from "../events.js";
import type { Clock } from "../seams/clock.js";
import type { Random } from "../seams/random.js";
import type { Hooks } from "./hooks.js";
import type { QueueSettings } from "./queue-settings.js";

/** What every verb of a queue is given: the queue as it is stored, and its surroundings. */
export interface QueueSeams {
  readonly settings: QueueSettings;
  /** When the queue was created, in microseconds: one of the same name that was created later is another one. */
  readonly createdUs: string;
  readonly database: GuardedDatabase;
  /** For lists, counts and charts, which may be a little old; all else asks `database`. */
  readonly reads: Reader;
  readonly bind: Binder;
  readonly clock: Clock;
  readonly events: Events;
  readonly random: Random;
  readonly newId: () => string;
  readonly hooks: Hooks;
  /** Another version's SQL, for tests. */
  readonly library?: Library;
}
