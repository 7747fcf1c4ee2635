import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** A number such as 1e131000 is a few bytes of jsonb and 131 kB of text. A row full of them made every claim that met it fail. */
const hostile = (numbers: number): string => `[${"1e131000,".repeat(numbers - 1)}1e131000]`;

/** A queue over connections that can't carry every character: the server refuses to send what has one of the others. */
async function narrowQueue(world: World, onDeadLetter: "continue" | "park"): Promise<Queue> {
  await world.queue("inbox", { order: "key", onDeadLetter });
  const pool = new pg.Pool({ connectionString: world.url, max: 4 });
  onTestFinished(() => pool.end());
  const inbox = await (await world.connect({ pool, url: undefined })).queue("inbox");
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  for (const client of clients) await client.query("set client_encoding to 'latin1'");
  for (const client of clients) client.release();
  return inbox;
}

test.each(["key", "none"] as const)("a payload that is huge as text is refused, order %s", async (order) => {
  const world = await setup();
  await world.queue("inbox", { order });
  const job = (payload: string) => `{"kind": "k", "payload": ${payload}}`;
  const enqueue = (json: string) => world.sql("select id from leasehold.enqueue($1)", [json]);
  await expect(enqueue(job(hostile(600)))).rejects.toThrow(/payload_too_large/);
  await expect(enqueue(`{"kind": "k", "headers": {"a": ${hostile(600)}}}`)).rejects.toThrow(
    /payload_too_large/,
  );
  const once = `{"kind": "k", "idempotency_key": "a", "payload": ${hostile(600)}}`;
  await expect(enqueue(once)).rejects.toThrow(/payload_too_large/);
  await expect(
    world.sql("insert into leasehold.inbox (payload) values ($1::jsonb)", [hostile(600)]),
  ).rejects.toThrow(/payload_too_large/);
  expect(await world.sql("select count(*)::int as rows from leasehold.inbox")).toEqual([{ rows: 0 }]);
});

test("a row that can't be sent is a dead letter, and its neighbours run", async () => {
  const world = await setup();
  const inbox = await narrowQueue(world, "continue");
  const jobs = Array.from({ length: 30 }, (_, n) => ({ kind: "k", payload: n, partitionKey: `k${n % 3}` }));
  await world.sql("select id from leasehold.enqueue($1)", [
    JSON.stringify(
      jobs.map(({ kind, payload, partitionKey: partition_key }) => ({
        kind,
        partition_key,
        payload: payload === 10 ? "\u{1f600}" : payload,
      })),
    ),
  ]);
  const seen: unknown[] = [];
  for (let claims = 0; claims < 4; claims++) {
    const claimed = await inbox.claim({ workerId: "w", limit: 30 });
    for (const job of claimed) seen.push(job.payload);
    await inbox.settle(claimed.map((job) => ({ job, outcome: { is: "complete" } })));
  }
  expect(new Set(seen)).toEqual(new Set(jobs.map((job) => job.payload).filter((n) => n !== 10)));
  expect(seen.length).toBe(29);
  const rows = await world.sql("select status, last_error from leasehold.inbox");
  expect(rows).toMatchObject([
    { status: "dead_letter", last_error: expect.stringMatching(/^undecodable: /) },
  ]);
});

test("a parked dead letter that can't be sent holds its key, and no other", async () => {
  const world = await setup();
  const inbox = await narrowQueue(world, "park");
  const jobs = [
    { kind: "k", payload: "\u{1f600}", partition_key: "a" },
    { kind: "k", payload: 2, partition_key: "a" },
    { kind: "k", payload: 3, partition_key: "b" },
  ];
  await world.sql("select id from leasehold.enqueue($1)", [JSON.stringify(jobs)]);
  expect((await inbox.claim({ workerId: "w" })).map((job) => job.payload)).toEqual([3]);
  expect(await inbox.claim({ workerId: "w" })).toEqual([]);
  const states = await world.sql(
    "select status, attempts from leasehold.inbox where partition_key = 'a' order by seq",
  );
  expect(states).toEqual([
    { status: "dead_letter", attempts: 1 },
    { status: "pending", attempts: 0 },
  ]);
});
