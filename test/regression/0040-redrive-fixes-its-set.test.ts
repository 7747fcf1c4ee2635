import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { discardJobs, redriveJobs } from "../../src/database/statements.generated.js";
import { deadLetter, type Queue } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { countOf, startWorker, until } from "../worker/worker-world.js";

const jobs = 3_000;

async function deadLetters(world: World, inbox: Queue, keys: number): Promise<void> {
  await inbox.enqueueMany(
    Array.from({ length: jobs }, (_, i) => ({ kind: "k", payload: i, partitionKey: `key ${i % keys}` })),
  );
  await world.sql(
    `update leasehold.inbox set status = 'dead_letter', attempts = 5, last_error = 'no',
       finished_at = case when (select on_dead_letter from leasehold.queues) = 'continue' then now() end`,
  );
}

/** Each batch chose by state alone, so jobs that died again were redriven again, for as long as the worker kept up. */
test.each([
  { order: "key", onDeadLetter: "continue", keys: jobs },
  { order: "key", onDeadLetter: "park", keys: jobs },
  { order: "none", onDeadLetter: "continue", keys: jobs },
] as const)(
  "a redrive of 3 000 dead letters runs each once beside a worker that fails them at once ($order, $onDeadLetter)",
  async ({ order, onDeadLetter, keys }) => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue("inbox", { order, onDeadLetter });
    await deadLetters(world, inbox, keys);
    const runs = new Map<unknown, number>();
    const handle = (job: { readonly payload: unknown }) => {
      runs.set(job.payload, (runs.get(job.payload) ?? 0) + 1);
      throw deadLetter("still no");
    };
    const worker = await startWorker(world.lh, { k: handle }, { concurrency: 100 });
    expect(await inbox.retry({ status: "dead_letter" })).toBe(jobs);
    await until(
      "all are dead letters again",
      async () => (await countOf(world, "dead_letter")) === jobs,
      60_000,
    );
    await worker.stop();
    expect(runs.size).toBe(jobs);
    expect([...new Set(runs.values())]).toEqual([1]);
  },
  120_000,
);

test("a discard takes what was there when it began, also what is promoted meanwhile, and not what comes later", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "none" });
  const later = { kind: "spam", delayMs: 3_600_000 };
  await inbox.enqueueMany(Array.from({ length: 2_500 }, (_, i) => ({ ...later, payload: i })));
  // The second batch waits for this row, so what happens meanwhile lies between two picks.
  const between = await world.client();
  await between.query("begin");
  await between.query(`select 1 from ${world.schema}.inbox where payload = '1500' for update`);
  const promoteAndEnqueue = async (): Promise<void> => {
    await world.sql(
      `update leasehold.inbox set status = 'pending', seq = nextval('leasehold.inbox_seq'), available_at = now()
       where payload = '2400'`,
    );
    await inbox.enqueue("spam", "new");
    await between.query("commit");
  };
  let meanwhile: Promise<void> | null = null;
  const progress = () => {
    meanwhile ??= promoteAndEnqueue();
  };
  expect(await inbox.discard({ kind: "spam" }, progress)).toBe(2_500);
  await meanwhile;
  expect((await inbox.list()).map((job) => job.payload)).toEqual(["new"]);
});

test("a batch that is sent again changes nothing and answers with the number of the first try", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await deadLetters(world, inbox, jobs);
  const ids = (await inbox.list({ limit: 10 })).map((job) => job.id);
  const receipt = randomUUID();
  const statuses = ["dead_letter"];
  const bind = binder({ schema: world.schema, queue: "inbox" });
  const redrive = bind(redriveJobs, { ids, statuses, receipt, detail: "{}", now: null });
  expect(await world.sql(redrive.text, [...redrive.values])).toEqual([{ changed: 10 }]);
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now()");
  expect(await world.sql(redrive.text, [...redrive.values])).toEqual([{ changed: 10 }]);
  expect(await countOf(world, "dead_letter")).toBe(jobs);
  const discard = bind(discardJobs, {
    ids,
    statuses,
    reason: null,
    receipt: randomUUID(),
    detail: "{}",
    now: null,
  });
  for (let send = 0; send < 2; send++)
    expect(await world.sql(discard.text, [...discard.values])).toEqual([{ changed: 10 }]);
});
