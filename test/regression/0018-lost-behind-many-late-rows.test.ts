import { expect, test } from "vitest";
import { openTransaction } from "../support/claims.js";
import { setup } from "../support/world.js";

/** Takeover looked at ten thousand rows from the head and never reached a lost row behind more of them. */
test("a lost row behind twelve thousand late ones is given back, and its key goes on", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const late = await openTransaction(world);
  const rows = Array.from({ length: 12_000 }, (_, n) => ({ kind: "k", payload: n, partitionKey: "a" }));
  await inbox.enqueueMany(rows, { tx: late.tx });
  await inbox.enqueue("k", "quick", { partitionKey: "a" });
  await inbox.claim({ workerId: "w1" });
  await late.commit();
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  await world.sql("insert into leasehold.workers (id, status) values ('w1', 'dead')");
  const [job] = await inbox.claim({ workerId: "w2", limit: 1 });
  expect(job?.payload).toBe(0);
  expect(await world.sql("select crashes from leasehold.inbox where payload = '\"quick\"'")).toEqual([
    { crashes: 1 },
  ]);
});
