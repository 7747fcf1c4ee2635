import { expect, test } from "vitest";
import { deadLetter, type Queue } from "../../src/index.js";
import { leasehold } from "../cli/in-process.js";
import { settableClock, setup } from "../support/world.js";

/** One archived dead letter whose id is in the queue again failed the whole batch with a unique violation. */

const dayMs = 86_400_000;

/** A queue, and what moves its dead letters to the archive. */
async function staged() {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "none", deadLetterRetentionMs: dayMs });
  const archive = async (): Promise<void> => {
    clock.advance(2 * dayMs);
    await world.lh.housekeep();
  };
  return { world, inbox, archive };
}

/** Dead letters in the archive. */
async function archived(inbox: Queue, payloads: readonly number[], archive: () => Promise<unknown>) {
  const jobs = await inbox.enqueueMany(payloads.map((payload) => ({ kind: "k", payload })));
  for (const job of await inbox.claim({ workerId: "w" })) await inbox.fail(job, deadLetter("no"));
  await archive();
  return jobs.map(({ id }) => id);
}

test("a redrive by ids leaves out archived dead letters whose id the queue has again", async () => {
  const { world, inbox, archive } = await staged();
  const [used = "", free = ""] = await archived(inbox, [1, 2], archive);
  await world.sql("insert into leasehold.inbox (id, kind, payload) values ($1, 'k', '3')", [used]);
  expect(await inbox.retry({ ids: [used, free] })).toBe(1);
  expect((await inbox.get(free))?.status).toBe("pending");
  expect(await inbox.get(used)).toMatchObject({ status: "pending", payload: 3 });
  const kept = await world.sql("select id, payload from leasehold.inbox_archive");
  expect(kept).toEqual([{ id: used, payload: 1 }]);
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const told = await leasehold(["jobs", "redrive", "inbox", used, "--yes"], { environment });
  expect(told).toMatchObject({ exitCode: 4, stdout: "" });
  // When its place is free it comes back.
  for (const job of await inbox.claim({ workerId: "w" })) await inbox.complete(job);
  expect(await inbox.retry({ ids: [used] })).toBe(1);
  expect(await inbox.get(used)).toMatchObject({ status: "pending", payload: 1 });
});

test("of two archived dead letters of an id the newest comes back, and the other stays", async () => {
  const { world, inbox, archive } = await staged();
  const [id = ""] = await archived(inbox, [1], archive);
  await world.sql("insert into leasehold.inbox (id, kind, payload) values ($1, 'k', '2')", [id]);
  for (const job of await inbox.claim({ workerId: "w" })) await inbox.fail(job, deadLetter("no"));
  await archive();
  expect(await world.sql("select 1 from leasehold.inbox_archive")).toHaveLength(2);
  expect(await inbox.retry({ ids: [id] })).toBe(1);
  expect(await inbox.get(id)).toMatchObject({ status: "pending", payload: 2 });
  expect(await world.sql("select payload from leasehold.inbox_archive")).toEqual([{ payload: 1 }]);
});
