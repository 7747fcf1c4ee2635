import { InvalidOptionError, UnknownWorkerError } from "../errors.js";
import { checkedWorkerId } from "../membership/member-settings.js";
import { ringOf } from "../membership/owned-buckets.js";
import type { Ring } from "../membership/ring.js";
import type { OptionNames } from "../option-names.js";
import { defaults } from "../settings.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { isLiveOn, listWorkers } from "./workers.js";

/** Workers that would come and go, by id. */
export interface RingChange {
  /** In the region that the registry has for this id, or in none. */
  readonly add?: readonly string[] | undefined;
  readonly remove?: readonly string[] | undefined;
}

export interface RingPreview {
  readonly before: Ring;
  readonly after: Ring;
  /** The buckets whose owner would change, ascending. */
  readonly moved: readonly MovedBucket[];
}

export interface MovedBucket {
  readonly bucket: number;
  readonly from: string | null;
  readonly to: string | null;
}

export const ringChangeNames: OptionNames<RingChange> = Object.freeze({ add: true, remove: true });

/** What a ring would become, by the functions that workers run. Changes nothing. */
export async function previewRing(seams: QueueSeams, change: RingChange): Promise<RingPreview> {
  const { settings } = seams;
  const added = checkedIds("add", change.add);
  const removed = checkedIds("remove", change.remove);
  const workers = await listWorkers(seams);
  const live = workers.filter((worker) => isLiveOn(worker, settings.name));
  const isLive = (id: string): boolean => live.some((worker) => worker.id === id);
  for (const id of removed) if (!isLive(id)) throw new UnknownWorkerError(id);
  for (const id of added)
    if (isLive(id)) throw new InvalidOptionError("add", id, "ids of workers that are not in the ring yet");
  const joining = added.map((id) => ({
    id,
    region: workers.find((worker) => worker.id === id)?.region ?? null,
  }));
  const staying = live.filter(({ id }) => !removed.includes(id));
  const before = ringOf(settings, live);
  const after = ringOf(settings, [...staying, ...joining]);
  return Object.freeze({ before, after, moved: movedBetween(before, after) });
}

function movedBetween(before: Ring, after: Ring): readonly MovedBucket[] {
  return Object.freeze(
    before.owners.flatMap((from, bucket) => {
      const to = after.owners[bucket] ?? null;
      return from === to ? [] : [Object.freeze({ bucket, from, to })];
    }),
  );
}

function checkedIds(option: string, ids: readonly string[] | undefined): readonly string[] {
  if (ids === undefined) return [];
  if (!Array.isArray(ids) || ids.length > defaults.previewWorkersMax)
    throw new InvalidOptionError(option, ids, `an array of at most ${defaults.previewWorkersMax} worker ids`);
  return [...new Set(ids.map(checkedWorkerId))];
}
