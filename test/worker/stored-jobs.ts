import type { World } from "../support/world.js";
import { until } from "./worker-world.js";

interface StoredJob {
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly claimed_by: string | null;
  readonly due_in_ms: number;
}

/** The row of a job, in the queue or in its archive. */
export async function stored(world: World, id: string): Promise<StoredJob> {
  const [row] = await world.sql<StoredJob>(
    `select status, attempts, last_error, claimed_by, (extract(epoch from available_at - clock_timestamp()) * 1000)::float8 as due_in_ms
     from (select id, status, attempts, last_error, claimed_by, available_at from leasehold.inbox
           union all select id, status, attempts, last_error, claimed_by, available_at from leasehold.inbox_archive) j
     where id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`There is no job ${id}.`);
  return row;
}

export async function untilStatus(
  world: World,
  id: string,
  status: string,
  limitMs?: number,
): Promise<StoredJob> {
  await until(`job ${id} is ${status}`, async () => (await stored(world, id)).status === status, limitMs);
  return await stored(world, id);
}

/** Until nothing is left in the queue. */
export async function untilEmpty(world: World, limitMs?: number): Promise<void> {
  await until(
    "the queue is empty",
    async () => (await world.sql("select 1 from leasehold.inbox limit 1")).length === 0,
    limitMs,
  );
}
