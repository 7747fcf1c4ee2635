import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A bulk enqueue went out in several statements, each sorted by itself, and two of them deadlocked. */
test.each([
  { name: "idempotency keys", strict: false },
  { name: "slots of a strict queue", strict: true },
])("two bulk enqueues that take the same $name in opposite orders do not deadlock", async ({ strict }) => {
  const world = await setup();
  await world.queue("inbox", { order: "key", strict });
  const fleet = [await world.connect(), await world.connect()];
  const retried: string[] = [];
  for (const lh of fleet) lh.on("database:retried", (event) => retried.push(event.reason));
  const bulk = Array.from({ length: 4_000 }, (_, n) => {
    const key = strict ? { partitionKey: `k${n}` } : { idempotencyKey: `k${n}` };
    return { kind: "k", payload: n, ...key };
  });
  const queues = await Promise.all(fleet.map((lh) => lh.queue("inbox")));
  const answers = await Promise.all([
    queues[0]!.enqueueMany(bulk),
    queues[1]!.enqueueMany(bulk.toReversed()),
  ]);
  expect(retried).toEqual([]);
  const ids = new Set(answers.flat().map((answer) => answer.id));
  expect(ids.size).toBe(strict ? 8_000 : 4_000);
});
