import { expect, test } from "vitest";
import { defaults } from "../../src/settings.js";
import { settableClock, setup } from "../support/world.js";
import { startWorker } from "../worker/worker-world.js";

/** Advisory locks have no rights. Whoever holds those of the buckets stops all claims, and neither why() nor audit() said so. */

test("why and audit name the session that holds the lock of a bucket", async () => {
  const clock = settableClock();
  const world = await setup({ clock, ttlMs: 600_000 });
  const inbox = await world.queue("inbox", { order: "key", buckets: 4 });
  const holder = await world.client();
  await holder.query("set application_name = 'the culprit'");
  const lock = `select pg_advisory_lock(${world.schema}.lock_class('${world.schema}.inbox'::regclass), b), pg_backend_pid() as pid from generate_series(0, 3) b`;
  const { rows } = await holder.query<{ pid: number }>(lock);
  const { id } = await inbox.enqueue("k", 1, { partitionKey: "p" });
  const worker = await startWorker(world.lh, { k: () => {} });
  const said = await inbox.why(id);
  expect(said.reason).toBe("bucket_locked");
  expect(said.words).toContain(`pg_terminate_backend(${rows[0]?.pid})`);
  expect(said.words).toContain("the culprit");
  clock.advance(defaults.auditLateMs + 1_000);
  expect((await world.lh.audit()).breaches).toMatchObject([{ rule: "unclaimed", count: 1 }]);
  await holder.query("select pg_advisory_unlock_all()");
  expect((await inbox.why(id)).reason).not.toBe("bucket_locked");
  await worker.stop();
});
