import type { ClaimedJob, JobRecord } from "./job.js";
import type { EnqueueOptions } from "./new-job.js";

/** Kind -> payload. `Record<string, unknown>` when nothing is said. */
export type JobTypes = object;
export type KindOf<J extends JobTypes> = keyof J & string;

/** Jobs of a typed queue: one member of the union per kind. */
export type ClaimedJobOf<J extends JobTypes> = { [K in KindOf<J>]: ClaimedJob<K, J[K]> }[KindOf<J>];
export type JobRecordOf<J extends JobTypes> = { [K in KindOf<J>]: JobRecord<K, J[K]> }[KindOf<J>];

/** A job for enqueueMany. */
export type JobInput<J extends JobTypes> = {
  [K in KindOf<J>]: EnqueueOptions & { readonly kind: K; readonly payload: J[K] };
}[KindOf<J>];
