import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { settableClock, setup } from "../support/world.js";

/** Ten times the 1 000 rows that a claim promotes were looked at, and nothing behind them (0045). */
test("in a strict queue, 10 050 due rows of keys that producers hold do not keep others from their turn", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", strict: true, buckets: 1 });
  const held = ["order:1", "order:2", "order:3"];
  const [slots] = await world.sql<{ n: number }>(
    "select count(distinct leasehold.inbox_slot(k))::int as n from unnest($1::text[]) k",
    [[...held, "order:9182"]],
  );
  expect(slots?.n).toBe(4);
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, max_attempts, status, available_at, seq)
     select 'held', to_jsonb(n), ($1::text[])[1 + n * 3 / 10051], 3, 'scheduled', $2::timestamptz + n * interval '1 ms', nextval('leasehold.inbox_seq')
     from generate_series(1, 10050) n`,
    [held, clock.databaseNow()],
  );
  await inbox.enqueueMany(
    Array.from({ length: 20 }, (_, n) => ({
      kind: "free",
      payload: n,
      partitionKey: "order:9182",
      delayMs: 20_000,
    })),
  );
  clock.advance(30_000);
  const producers: Awaited<ReturnType<typeof openTransaction>>[] = [];
  for (const partitionKey of held) {
    const producer = await openTransaction(world);
    await inbox.enqueue("late", partitionKey, { partitionKey, tx: producer.tx });
    producers.push(producer);
  }
  const jobs = await inbox.claim({ workerId: "w", limit: 100 });
  expect(jobs.map((job) => job.kind)).toEqual(Array.from({ length: 20 }, () => "free"));
  for (const producer of producers) await producer.commit();
  const heads = await inbox.claim({ workerId: "w", limit: 3, run: 1 });
  expect(heads.map((job) => job.payload).toSorted()).toEqual(held);
});
