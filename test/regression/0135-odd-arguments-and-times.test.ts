import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Arguments and times that the database or a Date can't hold ended in errors without a code, or in the database's own. */

test("a job that is due in a year that no Date can hold is listed and explained", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const [row] = await world.sql<{ id: string }>(
    "insert into leasehold.inbox (kind, payload, available_at, partition_key) values ('x', '{}', '290000-01-01', 'k') returning id",
  );
  const job = await inbox.get(row?.id ?? "");
  expect(job?.availableAt.toISOString()).toBe("+275760-09-13T00:00:00.000Z");
  expect(await inbox.why(row?.id ?? "")).toMatchObject({ reason: "scheduled" });
  expect(JSON.parse(JSON.stringify(await inbox.list()))).toHaveLength(1);
});

test("a token beyond what a bigint column holds is refused before anything is sent", async () => {
  const { lh } = await setup();
  let sent = 0;
  const tx = {
    query: async () => {
      sent++;
      return await Promise.resolve({ rows: [{ token: "1" }] });
    },
  };
  for (const token of [2n ** 63n, 2n ** 64n])
    await expect(lh.fence(tx, "r", token)).rejects.toMatchObject({
      code: "LH_INVALID_OPTION",
      option: "token",
    });
  await lh.fence(tx, "r", 2n ** 63n - 1n);
  expect(sent).toBe(1);
});

test("text that the database can't hold is refused in every filter and name, with a code", async () => {
  const { lh, queue, connect } = await setup();
  const inbox = await queue();
  const nul = "a\0b";
  const asked: readonly (() => Promise<unknown>)[] = [
    () => inbox.list({ kind: nul }),
    () => inbox.list({ partitionKey: nul }),
    () => inbox.search({ kind: nul }),
    () => inbox.retry({ partitionKey: nul }),
    () => inbox.discard({ kind: nul }),
    () => inbox.claim({ workerId: "w", kinds: [nul] }),
    () => lh.history({ queue: nul }),
    () => lh.history({ kind: [nul] }),
    () => lh.queue("other", { order: "key", preferRegions: [nul] }),
    () => connect({ region: nul }),
  ];
  for (const [n, ask] of asked.entries())
    await expect(ask(), String(n)).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
});
