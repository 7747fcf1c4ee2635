import pg from "pg";
import { expect, inject, test } from "vitest";
import { connect, type EventMap } from "../../src/index.js";
import { setup } from "../support/world.js";
import { gate, heard, startWorker, until } from "../worker/worker-world.js";

/** With pool.end() before lh.close(), every call was repeated for over a minute. */

test("a pool that was ended is LH_CLOSED at once, and nothing is repeated", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 4 });
  const lh = await connect({ pool, schema: world.schema, logger: false, workerId: "a" });
  const inbox = await lh.queue("inbox", { order: "key" });
  const retried = heard(lh, "database:retried");
  const stopped: EventMap["worker:stopped"][] = heard(lh, "worker:stopped");
  const started = heard(lh, "job:started");
  const held = gate();
  await startWorker(lh, { k: () => held.passed });
  await inbox.enqueue("k", 1);
  await until("a job runs", () => started.length > 0);
  await pool.end();
  const closed = { code: "LH_CLOSED", message: expect.stringContaining("lh.close()") };
  await expect(inbox.enqueue("k", 1)).rejects.toMatchObject(closed);
  await expect(inbox.stats()).rejects.toMatchObject(closed);
  await expect(lh.transaction(async () => {})).rejects.toMatchObject(closed);
  held.open();
  await lh.close();
  expect(stopped).toMatchObject([{ isClean: false }]);
  expect(retried).toEqual([]);
});
