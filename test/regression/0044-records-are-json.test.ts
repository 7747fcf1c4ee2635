import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** As an HTTP API or a log line would send it; dates become text. */
function sent(record: unknown): unknown {
  return JSON.parse(JSON.stringify(record));
}

/** Places, tokens and generations were BigInts, which JSON.stringify refuses. */
test("what operators read can be sent as JSON without loss", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql(
    "select setval('leasehold.inbox_seq', 9007199254740993), setval('leasehold.lease_tokens', 9007199254740994)",
  );
  const { id } = await inbox.enqueue("k", { order: 9182 }, { partitionKey: "order:9182" });
  const [job] = await inbox.claim({ workerId: "w" });
  expect(job).toMatchObject({ seq: 9007199254740994n, fenceToken: 9007199254740995n });
  const exact = { id, seq: "9007199254740994", fenceToken: "9007199254740995" };
  expect(sent(await inbox.list())).toMatchObject([exact]);
  expect(sent(await inbox.get(id))).toMatchObject(exact);
  expect(sent(await inbox.why(id))).toMatchObject({ reason: "running", job: exact });
  await inbox.complete(job!);
  expect(sent(await inbox.list({ status: "completed" }))).toMatchObject([exact]);
  expect(sent(await inbox.stats())).toMatchObject({ processing: 0 });

  await world.sql("insert into leasehold.workers (id, generation, queues) values ('w', 3, '{inbox}')");
  expect(sent(await world.lh.workers())).toMatchObject([{ id: "w", generation: 3 }]);
  expect(sent(await world.lh.ring("inbox"))).toMatchObject({});
  await inbox.enqueue("k", 1);
  await world.sql("update leasehold.inbox set attempts = 9, max_attempts = 5");
  expect(sent(await world.lh.audit())).toMatchObject({
    breaches: [{ rule: "attempts", rows: [{ seq: "9007199254740995" }] }],
  });
});
