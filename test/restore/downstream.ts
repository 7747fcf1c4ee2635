import pg from "pg";
import { expect, inject, onTestFinished } from "vitest";
import { acceptRestore, type ClaimedJob, connect, type Leasehold, type Queue } from "../../src/index.js";

/** A resource outside of the restored database, which refuses a token that is lower than one it has seen. */
export interface Downstream {
  admits(token: bigint): Promise<boolean>;
}

export async function downstream(): Promise<Downstream> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("create temporary table fence (resource text primary key, token bigint not null)");
  const write = `insert into fence values ('receipt', $1) on conflict (resource) do update set token = excluded.token
    where fence.token <= excluded.token`;
  return { admits: async (token) => (await client.query(write, [token])).rowCount === 1 };
}

/** Until the end of the test. */
export async function open(url: string): Promise<{ readonly lh: Leasehold; readonly inbox: Queue }> {
  const lh = await connect({ url, logger: false });
  onTestFinished(() => lh.close());
  await lh.migrate();
  return { lh, inbox: await lh.queue("inbox", { order: "key" }) };
}

/** More than the sequence writes ahead to the log (32). */
const many = 100;

/** So many jobs, one by one, each with a token of its own that goes downstream. Returns the last, which is not settled. */
export async function work(inbox: Queue, fence: Downstream, jobs: number = many): Promise<ClaimedJob> {
  let last: ClaimedJob | undefined;
  for (let n = 0; n < jobs; n++) {
    await inbox.enqueue("k", n);
    if (last !== undefined) await inbox.complete(last);
    [last] = await inbox.claim({ workerId: "a", limit: 1 });
    expect(last).toBeDefined();
    expect(await fence.admits(last!.fenceToken)).toBe(true);
  }
  return last!;
}

/** What a restore must not break: the living are admitted, the dead refused, here and downstream. */
export async function expectFenced(inbox: Queue, fence: Downstream, zombie: ClaimedJob): Promise<void> {
  await inbox.enqueue("k", "after");
  const claimed = await inbox.claim({ workerId: "b", limit: 10 });
  const after = claimed.find((job) => job.payload === "after");
  expect(after).toBeDefined();
  expect(after!.fenceToken).toBeGreaterThan(zombie.fenceToken);
  expect(await fence.admits(after!.fenceToken)).toBe(true);
  expect(await fence.admits(zombie.fenceToken)).toBe(false);
  expect(await inbox.complete(zombie)).toBe(false);
  expect(await inbox.complete(after!)).toBe(true);
}

/** For a schema that was loaded from a dump or copied: it is refused until it is accepted. */
export async function expectRefusedUntilAccepted(url: string): Promise<void> {
  await expect(connect({ url, logger: false })).rejects.toMatchObject({ code: "LH_RESTORED" });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await expect(client.query("select leasehold.next_token()")).rejects.toMatchObject({ code: "LHR01" });
  } finally {
    await client.end();
  }
  const { epoch } = await acceptRestore({ url, logger: false });
  expect(epoch).toBeGreaterThan(0n);
}
