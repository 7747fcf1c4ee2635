import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/index.js";
import { setup } from "../support/world.js";
import { startWorker } from "../worker/worker-world.js";

test("a client that is in no transaction is refused as tx, and nothing is stored", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const client = await world.client();
  const refused = { code: "LH_INVALID_TX", message: expect.stringMatching(/begin/i) };
  await expect(inbox.enqueue("k", 1, { tx: client })).rejects.toMatchObject(refused);
  await expect(world.lh.fence(client, "order:1", 1n)).rejects.toMatchObject(refused);
  await client.query("begin");
  await inbox.enqueue("k", 1, { tx: client });
  await client.query("commit");
  await expect(world.lh.once(client, "h", "m")).rejects.toMatchObject(refused);
  // Statements that were sent and not answered yet come before ours.
  const begun = client.query("begin");
  await inbox.enqueue("k", 2, { tx: client });
  await begun;
  await client.query("rollback");
  expect((await inbox.stats()).pending).toBe(1);
});

test("a url beside a pool is refused: only one of them can count", async () => {
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 2 });
  onTestFinished(() => pool.end());
  await expect(connect({ pool, url: inject("databaseUrl"), logger: false })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
    option: "url",
    message: expect.stringContaining("directUrl"),
  });
});

test("why says of a job behind a head that nobody handles, that nobody does", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await inbox.enqueue("new.kind", 1, { partitionKey: "p" });
  const { id } = await inbox.enqueue("k", 2, { partitionKey: "p" });
  await startWorker(world.lh, { k: () => {} });
  const { reason, words } = await inbox.why(id);
  expect(reason).toBe("blocked");
  expect(words).toMatch(/no live worker has a handler for the kind new\.kind/);
});

test("the advice for a queue with another order does not name a call that refuses it", async () => {
  const world = await setup();
  await world.queue();
  const error = (await world.lh
    .queue("inbox", { order: "none" })
    .catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ code: "LH_QUEUE_MISMATCH" });
  expect(error.message).not.toMatch(/or change it with/);
  expect(error.message).toMatch(/fixed when a queue is created/);
});
