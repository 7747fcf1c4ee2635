import { InvalidOptionError } from "../errors.js";
import type { Events } from "../events.js";
import { toJson } from "./json.js";
import type { QueueSettings } from "./queue-settings.js";

/** What a new job needs of its queue. `added` are headers that the producer did not give, such as those of a trace. */
export interface JobQueue {
  readonly settings: QueueSettings;
  readonly events: Events;
  readonly added?: AddedHeaders | undefined;
}

/** Made once for all jobs of a call. */
export interface AddedHeaders {
  readonly names: readonly string[];
  readonly json: string;
}

/** Undefined when there are none. */
export function addedHeaders(headers: Readonly<Record<string, string | number>>): AddedHeaders | undefined {
  const names = Object.keys(headers);
  return names.length === 0 ? undefined : { names, json: JSON.stringify(headers) };
}

/**
 * The headers of a new job as JSON; undefined when it has none. Added ones never stand in the way of the producer's own: they are left out when one of their names is
 * taken, or when the limit would be passed.
 */
export function jobHeaders(given: unknown, { settings, added }: JobQueue): string | undefined {
  const limitBytes = settings.payloadLimitBytes;
  const own = given === undefined ? undefined : toJson("headers", plain(given), limitBytes);
  if (added === undefined) return own;
  const { names, json } = added;
  if (own === undefined || own === "{}") return Buffer.byteLength(json) > limitBytes ? own : json;
  const isTaken = names.some((name) => Object.hasOwn(given as object, name));
  const both = `${own.slice(0, -1)},${json.slice(1)}`;
  return isTaken || Buffer.byteLength(both) > limitBytes ? own : both;
}

function plain(headers: unknown): object {
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) {
    throw new InvalidOptionError("headers", headers, "an object");
  }
  return headers;
}
