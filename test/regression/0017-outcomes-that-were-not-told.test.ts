import { expect, test } from "vitest";
import { GuardedDatabase } from "../../src/database/guarded-database.js";
import { createEvents } from "../../src/events.js";
import { DatabaseUnavailableError } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

test("a transaction whose failed statement was swallowed does not pass for committed", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const work = world.lh.transaction(async (tx) => {
    await inbox.enqueue("k", 1, { tx });
    await tx.query("select 1 / 0").catch(() => {});
  });
  await expect(work).rejects.toMatchObject({ code: "LH_DATABASE_REFUSED", sqlState: "25P02" });
  expect(await inbox.stats()).toMatchObject({ pending: 0 });
});

test("a call that may have committed says so, although later tries could not connect", async () => {
  let tries = 0;
  const database = {
    run: () => Promise.reject(new DatabaseUnavailableError("q", ++tries === 1)),
    transaction: () => Promise.reject(new Error("not used")),
    close: () => Promise.resolve(),
  };
  const clock = { ...settableClock(), sleep: () => Promise.resolve() };
  const random = { fraction: () => 0, bytes: (count: number) => new Uint8Array(count) };
  const guarded = new GuardedDatabase({ database, clock, random, events: createEvents() });
  await expect(guarded.run({ name: "q", text: "", values: [] })).rejects.toMatchObject({ isAmbiguous: true });
});

test("a worker that is marked dead is told so instead of being given rows that are taken from it at once", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  await world.sql("insert into leasehold.workers (id, status) values ('w', 'dead')");
  await expect(inbox.claim({ workerId: "w" })).rejects.toThrow(/worker w is marked dead/);
  expect(await inbox.stats()).toMatchObject({ pending: 1 });
});
