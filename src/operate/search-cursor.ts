import { InvalidOptionError } from "../errors.js";
import type { QueueSettings } from "../work/queue-settings.js";
import type { SearchFilter } from "./search-filter.js";

/** What is walked over: the queue by id, the same from its oldest row, one key by place, dead letters by when they died, the archive by id. */
export type Place = "queue" | "held" | "line" | "dead" | "archive";

/** Where a search goes on. */
export interface Position {
  readonly place: Place;
  /** When the search began; what came to the archive later was found before, in the queue. Null for a search of the archive alone. */
  readonly beganAtUs: bigint | null;
  /**
   * Of the last row: when it died, in microseconds, since a Date would lose digits and rows with them; or its place in line. In the archive that of the last dead letter in the queue. Null where rows come by id.
   */
  readonly rank: bigint | null;
  /** The id of the last row. */
  readonly id: string | null;
  /** In the archive, where several rows may have one id: when the last row was finished, in microseconds. */
  readonly atUs: bigint | null;
  /** In the archive: the id of the last dead letter in the queue. */
  readonly deadId: string | null;
}

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const pattern = new RegExp(
  `^(queue|held|line|dead|archive)\\.(\\d{0,17})\\.(\\d{0,19})\\.((?:${uuid})?)(?:@(\\d{1,17}))?(?:\\.(${uuid}))?$`,
);

/** What the database can hold: a bigint, and a time in the year 5138. */
const placeMax = 2n ** 63n - 1n;
const timeMaxUs = 10n ** 17n;

/**
 * The places that a search walks over, in this order. What is in line of a key has an index, and so have dead letters that let their key go on. Parked dead letters are in line, and are never moved to the archive.
 */
export function placesOf(
  { status, partitionKey }: Pick<SearchFilter, "status" | "partitionKey">,
  settings: QueueSettings,
): readonly Place[] {
  if (status === "completed" || status === "discarded") return ["archive"];
  if (status === "dead_letter" && settings.onDeadLetter === "continue") return ["dead", "archive"];
  const isInLine = status === "pending" || status === "processing" || status === "dead_letter";
  if (isInLine && partitionKey !== undefined && settings.order === "key") return ["line"];
  return status === "processing" ? ["held"] : ["queue"];
}

/** The beginning of a place, behind what was walked over in the place before it. */
export function startOf(place: Place, last: Position | null = null): Position {
  const { beganAtUs = null, rank = null, id = null } = last ?? {};
  return { place, beganAtUs, rank, id: null, atUs: null, deadId: id };
}

export function toCursor({ place, beganAtUs, rank, id, atUs, deadId }: Position): string {
  const at = atUs === null ? "" : `@${atUs}`;
  const dead = deadId === null ? "" : `.${deadId}`;
  return `${place}.${beganAtUs ?? ""}.${rank ?? ""}.${id ?? ""}${at}${dead}`;
}

export function fromCursor(cursor: unknown, places: readonly Place[]): Position {
  const parts = typeof cursor === "string" ? pattern.exec(cursor) : null;
  const place = places.find((one) => one === parts?.[1]);
  const number = (text: string | undefined): bigint | null =>
    text === undefined || text === "" ? null : BigInt(text);
  const rank = number(parts?.[3]);
  const rankMax = place === "line" ? placeMax : timeMaxUs;
  if (parts === null || place === undefined || (rank ?? 0n) > rankMax)
    throw new InvalidOptionError("cursor", cursor, "what an earlier call with the same filter gave");
  const [id, atUs, deadId] = [parts[4] || null, number(parts[5]), parts[6] ?? null];
  return { place, beganAtUs: number(parts[2]), rank, id, atUs, deadId };
}
