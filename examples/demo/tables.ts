import type { Leasehold, Tx, WorkingJob } from "../../src/index.js";
import type { Work } from "./shop.js";

/**
 * The shop's own tables. `made` has a row for each job that was enqueued, from the same commit; `receipts` has one for each time that a job was done,
 * from the same commit as its completion. Nothing in them keeps a job from being done twice or too early: that is left to Leasehold, and looked for
 * in promises.ts.
 */
const createTables = `
  create schema if not exists leasehold_shop;
  create sequence if not exists leasehold_shop.order_numbers start 1001;
  create table if not exists leasehold_shop.made (
    id uuid primary key,
    key text not null,
    step bigint not null,
    made_at timestamptz not null default clock_timestamp()
  );
  create table if not exists leasehold_shop.receipts (
    number bigint generated always as identity primary key,
    job uuid not null,
    key text not null,
    step bigint not null,
    kind text not null,
    worker text not null,
    is_checked boolean not null default false
  );
  create index if not exists receipts_by_key on leasehold_shop.receipts (key, step);
  create index if not exists receipts_to_check on leasehold_shop.receipts (number) where not is_checked;
`;

/** What an earlier demo left: jobs that are done are ticked off, keys that are through need not be kept, and the rest was checked then. */
const tidyTables = `
  delete from leasehold_shop.made m using leasehold_shop.receipts r where r.job = m.id;
  delete from leasehold_shop.receipts r where not exists (select from leasehold_shop.made m where m.key = r.key);
  update leasehold_shop.receipts set is_checked = true where not is_checked;
`;

export async function prepareTables(lh: Leasehold): Promise<void> {
  await lh.transaction(async (tx) => {
    await tx.query(createTables);
    await tx.query(tidyTables);
  });
}

export async function nextOrderNumber(tx: Tx): Promise<number> {
  const { rows } = await tx.query("select nextval('leasehold_shop.order_numbers')::int as number");
  const [row] = rows as readonly { readonly number: number }[];
  return row?.number ?? 0;
}

export interface MadeJob {
  readonly id: string;
  readonly key: string;
  readonly step: number;
}

export async function writeMade(tx: Tx, jobs: readonly MadeJob[]): Promise<void> {
  await tx.query(
    `insert into leasehold_shop.made (id, key, step) select * from unnest($1::uuid[], $2::text[], $3::bigint[])`,
    [jobs.map((job) => job.id), jobs.map((job) => job.key), jobs.map((job) => job.step)],
  );
}

export async function writeReceipt(tx: Tx, job: WorkingJob<string, Work>): Promise<void> {
  await tx.query(
    `insert into leasehold_shop.receipts (job, key, step, kind, worker) values ($1, $2, $3, $4, $5)`,
    [job.id, job.partitionKey, job.payload.step, job.kind, job.workerId],
  );
}
