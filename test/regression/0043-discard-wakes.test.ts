import { expect, test } from "vitest";
import { deadLetter } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { until } from "../worker/worker-world.js";

/** A worker that asked to be woken for every bucket, as a listener that only notes what it is told. */
async function listen(world: World): Promise<(string | undefined)[]> {
  await world.sql(
    "insert into leasehold.workers (id, queues, wake_wish) values ('fake', '{inbox}', jsonb_build_object('inbox', repeat('1', 360)))",
  );
  const [channel] = await world.sql<{ name: string }>("select leasehold.worker_channel('fake') as name");
  const listener = await world.client();
  const told: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => told.push(payload));
  await listener.query(`listen ${channel!.name}`);
  return told;
}

/** What stood behind it was found by the next poll. */
test("a discarded head wakes the worker of its bucket, parked or in backoff; what is not in line wakes nobody", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  for (const partitionKey of ["parked", "backoff"])
    await inbox.enqueueMany([1, 2].map((n) => ({ kind: "k", payload: n, partitionKey })));
  await inbox.enqueue("later", 1, { delayMs: 3_600_000 });
  const heads = (await inbox.claim({ workerId: "w", run: 1 })).filter((job) => job.payload === 1);
  const [parked, waiting] = ["parked", "backoff"].map(
    (key) => heads.find((job) => job.partitionKey === key)!,
  );
  await inbox.fail(parked!, deadLetter("no"));
  await inbox.fail(waiting!, new Error("no"));
  const told = await listen(world);
  expect(await inbox.discard({ kind: "later" })).toBe(1);
  expect(await inbox.discard({ ids: [parked!.id] })).toBe(1);
  expect(await inbox.discard({ ids: [waiting!.id] })).toBe(1);
  await until("both are told", () => told.length >= 2);
  expect(told).toEqual([`inbox:${parked!.bucket}`, `inbox:${waiting!.bucket}`]);
});
