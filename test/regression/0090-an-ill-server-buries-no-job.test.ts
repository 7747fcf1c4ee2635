import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** Which statement fails and with what; null for none. */
type Illness = (statement: string, values: readonly unknown[]) => string | null;

/** A queue whose connections answer some statements with an error of the server. */
async function illQueue(
  world: World,
  order: "key" | "none",
  illness: Illness,
): Promise<{ readonly inbox: Queue; readonly heal: () => void }> {
  await world.queue("inbox", { order, buckets: 4 });
  let isIll = true;
  class IllClient extends pg.Client {
    override query(...given: unknown[]): never {
      const [{ name = "", values = [] }] = given as [{ name?: string; values?: unknown[] }];
      const code = isIll ? illness(name, values) : null;
      if (code === null) return super.query(...(given as [never])) as never;
      return Promise.reject(
        Object.assign(new Error("the server is ill"), { code, severity: "ERROR" }),
      ) as never;
    }
  }
  const pool = new pg.Pool({ connectionString: world.url, max: 4, Client: IllClient });
  onTestFinished(() => pool.end());
  const inbox = await (await world.connect({ pool, url: undefined })).queue("inbox");
  return { inbox, heal: () => (isIll = false) };
}

/** A claim whose limit of bytes is 0 asks for no payloads. */
const isWithPayloads = (statement: string, values: readonly unknown[]): boolean =>
  statement.startsWith("lh_claim_jobs") && !values.includes("0");
const isRead = (statement: string): boolean => statement.startsWith("lh_read_payload");

const rowsOf = (world: World) =>
  world.sql(
    "select status, attempts, count(*)::int as rows from leasehold.inbox group by 1, 2 order by 1, 2",
  );

const jobs = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: "k", payload: n, partitionKey: `k${n % 10}` }));

/** 25 of 100 healthy jobs became dead letters because the server had no memory for a moment. */
test.each([
  ["53200", "key"],
  ["53200", "none"],
  ["XX000", "key"],
  ["XX000", "none"],
] as const)("a server that answers %s buries no job, order %s", async (code, order) => {
  const world = await setup();
  const { inbox, heal } = await illQueue(world, order, (statement, values) =>
    isWithPayloads(statement, values) || isRead(statement) ? code : null,
  );
  await inbox.enqueueMany(jobs(40));
  await expect(inbox.claim({ workerId: "w", limit: 30 })).rejects.toMatchObject({ sqlState: code });
  expect(await rowsOf(world)).toEqual([{ status: "pending", attempts: 0, rows: 40 }]);
  heal();
  expect(await inbox.claim({ workerId: "w", limit: 40 })).toHaveLength(40);
});

test("a row whose read fails for the server's reasons goes back with what is behind it, and its neighbours run", async () => {
  const world = await setup();
  let sick = "";
  const { inbox, heal } = await illQueue(world, "key", (statement, values) =>
    isWithPayloads(statement, values) || (isRead(statement) && values.includes(sick)) ? "53200" : null,
  );
  const [, second] = await inbox.enqueueMany([
    { kind: "k", payload: "a1", partitionKey: "a" },
    { kind: "k", payload: "a2", partitionKey: "a" },
    { kind: "k", payload: "a3", partitionKey: "a" },
    { kind: "k", payload: "b1", partitionKey: "b" },
  ]);
  sick = second!.id;
  const claimed = await inbox.claim({ workerId: "w", limit: 10 });
  expect(claimed.map((job) => job.payload).toSorted()).toEqual(["a1", "b1"]);
  expect(await rowsOf(world)).toEqual([
    { status: "pending", attempts: 0, rows: 2 },
    { status: "processing", attempts: 1, rows: 2 },
  ]);
  heal();
  await inbox.settle(claimed.map((job) => ({ job, outcome: { is: "complete" } })));
  expect((await inbox.claim({ workerId: "w" })).map((job) => job.payload)).toEqual(["a2", "a3"]);
});

test("an error of another kind between two reads releases all rows of the claim", async () => {
  const world = await setup();
  let reads = 0;
  const { inbox } = await illQueue(world, "key", (statement, values) => {
    if (isRead(statement)) return reads++ < 3 ? null : "42501";
    return isWithPayloads(statement, values) ? "22P05" : null;
  });
  await inbox.enqueueMany(jobs(20));
  await expect(inbox.claim({ workerId: "w", limit: 20 })).rejects.toMatchObject({ sqlState: "42501" });
  expect(await rowsOf(world)).toEqual([{ status: "pending", attempts: 0, rows: 20 }]);
});
