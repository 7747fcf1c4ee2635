import { expect, test } from "vitest";
import type { QueueOptions } from "../../src/index.js";
import { setup } from "../support/world.js";
import { heard } from "../worker/worker-world.js";

/**
 * After queue.change() every process whose code named the value from before failed with LH_QUEUE_MISMATCH when it was started again, and so did the first one with the new value: no
 * rolling deploy could change a setting.
 */

const given = {
  retentionMs: 86_400_000,
  deadLetterRetentionMs: 1_000,
  dedupeWindowMs: 2_000,
  maxAttempts: 3,
  maxCrashes: 2,
  kinds: { a: { maxAttempts: 1 } },
} satisfies QueueOptions;
const stored = {
  retentionMs: 172_800_000,
  deadLetterRetentionMs: 3_000,
  dedupeWindowMs: 4_000,
  maxAttempts: 5,
  maxCrashes: 4,
  kinds: { b: { maxAttempts: 2 } },
} satisfies QueueOptions;

test("what was changed counts for processes whose code has the value from before, and they say so once", async () => {
  const world = await setup();
  const first = await world.lh.queue("mail", { order: "key", ...given });
  await first.change(stored);
  const old = await world.connect();
  const told = heard(old, "queue:differs");
  const mail = await old.queue("mail", { order: "key", ...given });
  expect(mail.settings).toEqual(first.settings);
  expect(mail.settings).toMatchObject(stored);
  expect(told).toEqual([
    {
      queue: "mail",
      differences: Object.keys(stored).map((option) => ({
        option,
        given: given[option as keyof typeof given],
        stored: stored[option as keyof typeof stored],
      })),
    },
  ]);
  await mail.enqueue("k", 1);
  expect(await mail.claim({ workerId: "w" })).toMatchObject([{ maxAttempts: 5 }]);
  expect(told).toHaveLength(1);
  await old.queue("mail", stored);
  await old.queue("mail");
  expect(told).toHaveLength(1);
});

test("what is fixed is refused as before, together with whether there is an archive", async () => {
  const world = await setup();
  await world.lh.queue("mail", { order: "key" });
  await world.lh.queue("none", { order: "none", retentionMs: 0 });
  const told = heard(world.lh, "queue:differs");
  const mismatch = { code: "LH_QUEUE_MISMATCH" };
  for (const options of [
    { order: "none", maxAttempts: 9 },
    { strict: true },
    { buckets: 7 },
    { retentionMs: 0 },
  ] as const)
    await expect(world.lh.queue("mail", options)).rejects.toMatchObject(mismatch);
  await expect(world.lh.queue("none", { retentionMs: 60_000 })).rejects.toMatchObject(mismatch);
  expect(told).toEqual([]);
  await expect(world.lh.queue("mail", { maxAttempts: 0 })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
  });
});
