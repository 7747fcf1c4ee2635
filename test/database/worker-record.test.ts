import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { GuardedDatabase } from "../../src/database/guarded-database.js";
import { createEvents } from "../../src/events.js";
import { memberSettings } from "../../src/membership/member-settings.js";
import { WorkerRecord } from "../../src/membership/worker-record.js";
import type { Database } from "../../src/seams/database.js";
import { seeded, settableClock, setup, type World } from "../support/world.js";

const load = { version: "1", running: 0, slots: 0, held: 0, idleMs: {}, recent: {} };

/** A process of worker `a`. */
async function processOf(world: World, seed: number): Promise<WorkerRecord> {
  const client = await world.client();
  const driver: Database = {
    run: async <R>(query: { text: string; values: readonly unknown[] }) =>
      (await client.query(query.text, [...query.values])).rows as R[],
    transaction: () => Promise.reject(new Error("not used")),
    close: () => Promise.resolve(),
  };
  const fraction = seeded(seed);
  const random = {
    fraction,
    bytes: (count: number) => Uint8Array.from({ length: count }, () => fraction() * 256),
  };
  const clock = settableClock();
  const events = createEvents();
  const database = new GuardedDatabase({ database: driver, clock, random, events });
  const settings = memberSettings(
    { workerId: "a" },
    { hostname: "h", pid: 1, workerId: undefined, heartbeatMs: undefined, ttlMs: undefined },
  );
  return new WorkerRecord(
    { database, bind: binder({ schema: world.schema, queue: "inbox" }), clock, random, events },
    settings,
  );
}

test("who starts takes an id from whoever has it, and who has lost it can't register again", async () => {
  const world = await setup();
  const [first, second] = [await processOf(world, 1), await processOf(world, 2)];
  expect(await first.register(load, "it starts")).toBe(true);
  expect(await first.register(load, "its session is new")).toBe(true);
  expect(await first.beat(load)).toBe("accepted");
  expect(await second.register(load, "it starts")).toBe(true);
  expect(await first.register(load, "its session is new")).toBe(false);
  expect(await first.beat(load)).toBe("superseded");
  expect(await second.beat(load)).toBe("accepted");
  await world.sql("update leasehold.workers set status = 'dead'");
  expect(await first.register(load, "it was marked dead")).toBe(false);
  expect(await second.beat(load)).toBe("dead");
  expect(await second.register(load, "it was marked dead")).toBe(true);
  await first.deregister(true);
  expect(await second.beat(load)).toBe("accepted");
  expect(await first.register(load, "it starts")).toBe(true);
  expect(await second.beat(load)).toBe("superseded");
});

test("what a process draws at its first beat stays for as long as it lives, also when it registers again", async () => {
  const world = await setup();
  const [first, second] = [await processOf(world, 1), await processOf(world, 2)];
  const token = async (): Promise<unknown> =>
    (await world.sql("select first_token from leasehold.workers"))[0];
  await first.register(load, "it starts");
  expect(await token()).toEqual({ first_token: null });
  await first.beat(load);
  const drawn = await token();
  expect(drawn).not.toEqual({ first_token: null });
  await first.register(load, "its session is new");
  await first.beat(load);
  expect(await token()).toEqual(drawn);
  await second.register(load, "it starts");
  expect(await token()).toEqual({ first_token: null });
});
