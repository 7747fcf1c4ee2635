import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { LeaseholdError } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

/** Each of these hung, or failed later with an error of the driver. */
test("a pool of one connection is refused when connecting", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 1 });
  onTestFinished(async () => await pool.end());
  await expect(world.connect({ pool })).rejects.toMatchObject({ code: "LH_INVALID_OPTION", option: "pool" });
});

test("a session that writes dates in a style the driver can't read is refused when connecting", async () => {
  const world = await setup();
  const url = new URL(world.url);
  url.searchParams.set("options", "-c datestyle=SQL,DMY");
  await expect(world.connect({ url: url.href })).rejects.toMatchObject({ code: "LH_UNSUPPORTED_SERVER" });
});

test("migrate without the right to create a schema raises an error of ours", async () => {
  const world = await setup();
  const role = `${world.schema}_weak`;
  await world.sql(`create role ${role} nologin`);
  onTestFinished(async () => void (await world.sql(`drop role ${role}`)));
  const url = new URL(world.url);
  url.searchParams.set("options", `-c role=${role}`);
  const lh = await world.connect({ url: url.href, schema: `${world.schema}_other` });
  await expect(lh.migrate()).rejects.toBeInstanceOf(LeaseholdError);
});

test("a server whose default isolation is serializable is claimed from all the same", async () => {
  const world = await setup();
  await world.queue();
  const url = new URL(world.url);
  url.searchParams.set("options", "-c default_transaction_isolation=serializable");
  const lh = await world.connect({ url: url.href });
  const inbox = await lh.queue("inbox");
  await inbox.enqueueMany([1, 2].map((n) => ({ kind: "k", payload: n, partitionKey: "a" })));
  const jobs = await inbox.claim({ workerId: "w" });
  expect(jobs.map((job) => job.payload)).toEqual([1, 2]);
  expect(await inbox.settle(jobs.map((job) => ({ job, outcome: { is: "complete" } })))).toEqual([true, true]);
});

test("a time that is not finite is refused in plain SQL too", async () => {
  const world = await setup();
  await world.queue();
  const call = world.sql(`select id from leasehold.enqueue('{"kind": "k", "available_at": "infinity"}')`);
  await expect(call).rejects.toMatchObject({ code: "23514" });
});

test("why does not say that a row waits for a time that has passed", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("k", 1, { delayMs: 1_000 });
  clock.advance(60_000);
  expect((await inbox.why(id)).words).toContain("fell due at");
});

test("shared references cost no more than the size limit allows", async () => {
  const world = await setup();
  const inbox = await world.queue();
  let payload: unknown = "leaf";
  for (let depth = 0; depth < 60; depth++) payload = [payload, payload];
  await expect(inbox.enqueue("k", payload)).rejects.toMatchObject({ code: "LH_PAYLOAD_TOO_LARGE" });
});

test("calls with nothing useful in them are refused with a code", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const nothing = null as never;
  for (const call of [
    inbox.enqueueMany([nothing]),
    inbox.enqueue("k", 1, nothing),
    inbox.claim(nothing),
    inbox.claim({ workerId: "w", buckets: 5 as never }),
    inbox.discard({ status: "pending", reason: 5 as never }),
    inbox.list(nothing),
  ]) {
    await expect(call).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
  }
});
