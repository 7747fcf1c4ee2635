import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Arrays with toJSON were stored as something else; warnings counted characters; events spoke too early. */
test("an array with toJSON does not come back as something else", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const payload = Object.assign([1], { toJSON: () => "other" });
  await expect(inbox.enqueue("k", payload)).rejects.toMatchObject({ code: "LH_INVALID_PAYLOAD" });
});

test("payload:warned counts bytes, and only for what was stored", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const seen: number[] = [];
  world.lh.on("payload:warned", (event) => seen.push(event.bytes));
  await inbox.enqueue("k", "x".repeat(3_000), { priority: 0.5 }).catch(() => {});
  await inbox.enqueue("k", "中".repeat(1_500));
  expect(seen).toEqual([4_502]);
});

test("jobs:enqueued is not said of a transaction that rolls back", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const seen: unknown[] = [];
  world.lh.on("jobs:enqueued", (event) => seen.push(event));
  const work = world.lh.transaction(async (tx) => {
    await inbox.enqueue("k", 1, { tx });
    throw new Error("roll back");
  });
  await expect(work).rejects.toThrow("roll back");
  expect(seen).toEqual([]);
});
