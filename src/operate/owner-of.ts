import { findBucket, findGainedAt } from "../database/statements.generated.js";
import { ringOf } from "../membership/owned-buckets.js";
import { ringPosition } from "../membership/ring-position.js";
import { defaults } from "../settings.js";
import { checkKey } from "../work/new-job.js";
import type { QueueSeams } from "../work/queue-seams.js";
import { isLiveOn, listWorkers } from "./workers.js";

/** Who works on the jobs of a partition key, as a worker that looked now would see it. */
export interface KeyOwner {
  readonly key: string;
  readonly bucket: number;
  /** Where the bucket lies on the ring, from 0 up to 1. */
  readonly position: number;
  /** The worker id; null when no live worker may own the bucket. */
  readonly owner: string | null;
  /** When the owner told that it had gained the bucket; null when that is older than the history, or was not told yet. */
  readonly since: Date | null;
  /** Who would own the bucket if its owner left; null when nobody would. */
  readonly next: string | null;
}

export async function ownerOf(seams: QueueSeams, key: string): Promise<KeyOwner> {
  const { settings } = seams;
  checkKey("partition key", key, defaults.keyBytesMax);
  const [found] = await seams.database.run(seams.bind(findBucket, { key, buckets: settings.buckets }));
  const bucket = found?.bucket ?? 0;
  const live = (await listWorkers(seams)).filter((worker) => isLiveOn(worker, settings.name));
  const owner = ringOf(settings, live).owners[bucket] ?? null;
  const [gained] =
    owner === null
      ? []
      : await seams.database.run(seams.bind(findGainedAt, { queue: settings.name, workerId: owner, bucket }));
  const others = live.filter(({ id }) => id !== owner);
  return Object.freeze({
    key,
    bucket,
    position: ringPosition(bucket, settings.ring),
    owner,
    since: gained?.at ?? null,
    next: owner === null ? null : (ringOf(settings, others).owners[bucket] ?? null),
  });
}
