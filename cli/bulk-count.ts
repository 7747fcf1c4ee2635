import type { JobFilter, JobStatus, Queue } from "../src/index.js";
import { count, counted } from "./figures.js";

const countMax = 1_000;

export interface Matching {
  readonly count: number;
  /** True when there may be more. */
  readonly isPart: boolean;
  readonly what: string;
}

/** How many jobs a filter means, counted as far as one bounded search goes. */
export async function matching(
  queue: Queue,
  { limit, status, ...filter }: Omit<JobFilter, "ids"> & { readonly status: JobStatus },
): Promise<Matching> {
  const what = status === "dead_letter" ? "dead letter" : `${status} job`;
  const page = await queue.search({ ...filter, status, limit: Math.min(limit ?? countMax, countMax) });
  const found = page.jobs.length;
  return { count: found, isPart: page.cursor !== null && (limit === undefined || found < limit), what };
}

export function countWords({ count: found, isPart, what }: Matching): string {
  return isPart ? `${count(found)} or more ${what}s` : counted(found, what);
}
