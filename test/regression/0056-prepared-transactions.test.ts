import { expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import { setup } from "../support/world.js";

/** A transaction that has enqueued could not be prepared while a worker waited to be woken: the server refuses PREPARE TRANSACTION after a NOTIFY. */
test("an enqueue that wakes nobody can be prepared, whichever way it comes", async () => {
  const server = await startPostgres({ settings: { max_prepared_transactions: "5" } });
  onTestFinished(() => server.stop());
  const world = await setup({}, server.url);
  const inbox = await world.queue("inbox", { order: "key", buckets: 1 });
  await world.sql(`insert into leasehold.workers (id, wake_wish) values ('w', '{"inbox": "1"}')`);
  const client = await world.client();
  const prepared = async (act: () => Promise<unknown>) => {
    await client.query("begin");
    await act();
    const answer = await client.query("prepare transaction 'one'").then(
      () => "prepared",
      (error: { code: string }) => error.code,
    );
    await client.query(answer === "prepared" ? "commit prepared 'one'" : "rollback");
    return answer;
  };
  const sql = (text: string) => client.query(text.replaceAll("leasehold.", `${world.schema}.`));
  expect(await prepared(() => inbox.enqueue("step", 1, { tx: client }))).toBe("0A000");
  expect(await prepared(() => inbox.enqueue("step", 1, { tx: client, wake: false }))).toBe("prepared");
  expect(
    await prepared(() => inbox.enqueue("step", 2, { tx: client, wake: false, idempotencyKey: "a" })),
  ).toBe("prepared");
  expect(
    await prepared(() => inbox.enqueueMany([{ kind: "step", payload: 3 }], { tx: client, wake: false })),
  ).toBe("prepared");
  const quietly = async (text: string) => {
    await sql("set local leasehold.wake = off");
    await sql(text);
  };
  expect(await prepared(() => quietly(`select leasehold.enqueue('{"kind": "step"}')`))).toBe("prepared");
  expect(await prepared(() => quietly("insert into leasehold.inbox (payload) values ('5')"))).toBe(
    "prepared",
  );
  expect(await world.sql("select 1 from leasehold.inbox")).toHaveLength(5);
  await expect(inbox.enqueue("step", 1, { wake: false })).rejects.toMatchObject({
    code: "LH_INVALID_OPTION",
    option: "wake",
  });
});
