import { InvalidOptionError } from "../errors.js";
import { asObject, defaults } from "../settings.js";
import type { RecentFigures } from "../work/figures.js";
import { toJson } from "../work/json.js";

/** What a process says of itself with each heartbeat. */
export interface WorkerLoad {
  /** Of the library; null while it is not known. */
  readonly version: string | null;
  /** Handlers running, of how many that may at a time, and jobs held. */
  readonly running: number;
  readonly slots: number;
  readonly held: number;
  /** For each queue of which it owns buckets: how long it has had room and no claim was answered. */
  readonly idleMs: Readonly<Record<string, number>>;
  /** For each queue: the claims and handlers of the last minute or two. */
  readonly recent: Readonly<Record<string, RecentFigures>>;
}

/** In the registry's metadata, the load is under this key, beside what the user gave. */
const ownKey = "leasehold";

/** The user's metadata as JSON. */
export function checkedMetadata(metadata: Readonly<Record<string, unknown>> = {}): string {
  asObject("metadata", metadata);
  if (ownKey in metadata)
    throw new InvalidOptionError("metadata", metadata, `an object without "${ownKey}", which is reserved`);
  return toJson("metadata", metadata, defaults.metadataBytesMax);
}

/** What is stored: the user's metadata, with the load added to it. */
export function withLoad(metadata: string, load: WorkerLoad): string {
  const own = `"${ownKey}":${JSON.stringify(load)}}`;
  return metadata === "{}" ? `{${own}` : `${metadata.slice(0, -1)},${own}`;
}

/** The other way round. Rows of other versions of the library may lack any of it. */
export function loadIn(stored: Readonly<Record<string, unknown>>): {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly load: WorkerLoad;
} {
  const { [ownKey]: own, ...metadata } = stored;
  const load = (own ?? {}) as Partial<WorkerLoad>;
  const { version = null, running = 0, slots = 0, held = 0, idleMs = {}, recent = {} } = load;
  return { metadata, load: { version, running, slots, held, idleMs, recent } };
}
