import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { complete } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** The same call once more, after an answer that never came: what it may have left behind is named. */
async function send(
  world: World,
  job: { readonly id: string; readonly receipt: string },
  isResent: boolean,
): Promise<unknown> {
  const { id, receipt } = job;
  const jobs = [
    { id, kind: "k", payload: 1, partition_key: "a", ...(isResent ? { earlier: [receipt] } : {}) },
  ];
  const request = isResent ? { resend: true, receipt: randomUUID(), jobs } : { receipt, jobs };
  return await world.sql("select id, duplicate from leasehold.inbox_enqueue($1)", [JSON.stringify(request)]);
}

test.each([
  ["with an archive", 86_400_000],
  ["without an archive", 0],
])("a job that is done before its enqueue is sent again is not enqueued anew, %s", async (_, retentionMs) => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", retentionMs });
  const job = { id: randomUUID(), receipt: randomUUID() };
  await send(world, job, false);
  const claimed = await inbox.claim({ workerId: "w" });
  await inbox.settle(claimed.map((one) => ({ job: one, outcome: complete })));
  expect(await send(world, job, true)).toEqual([{ id: job.id, duplicate: false }]);
  expect(await world.sql("select id from leasehold.inbox")).toEqual([]);
});

test.each([86_400_000, 0])(
  "a job whose enqueue never arrived is enqueued when it is sent again, retention %d",
  async (retentionMs) => {
    const world = await setup();
    await world.queue("inbox", { order: "key", retentionMs });
    const job = { id: randomUUID(), receipt: randomUUID() };
    expect(await send(world, job, true)).toEqual([{ id: job.id, duplicate: false }]);
    expect(await send(world, job, true)).toEqual([{ id: job.id, duplicate: false }]);
    expect(await world.sql("select id from leasehold.inbox")).toEqual([{ id: job.id }]);
  },
);
