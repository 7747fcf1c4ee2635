import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** A strict transaction over many keys held about 1 000 advisory locks; a few dozen of them filled the server's lock table. */
test("a strict transaction holds at most 128 locks on its keys, whatever their number", async () => {
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key", strict: true });
  const client = await world.client();
  await client.query("begin");
  const jobs = Array.from({ length: 5_000 }, (_, n) => ({
    kind: "step",
    payload: n,
    partitionKey: `order:${n}`,
  }));
  await inbox.enqueueMany(jobs, { tx: client });
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int as count from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
  );
  await client.query("commit");
  expect(rows[0]?.count).toBe(128);
});
