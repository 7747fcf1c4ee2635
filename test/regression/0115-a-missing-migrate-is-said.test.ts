import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect, type Leasehold } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { setup } from "../support/world.js";

/** On a database without the schema, most calls raised the server's own error instead of LH_NOT_MIGRATED. */

const missing = { code: "LH_NOT_MIGRATED", message: expect.stringContaining("lh.migrate()") };

async function fresh(): Promise<Leasehold> {
  const schema = `absent_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  const lh = await connect({ url: inject("databaseUrl"), schema, logger: false });
  onTestFinished(() => lh.close());
  return lh;
}

const calls: readonly (readonly [string, (lh: Leasehold) => unknown])[] = [
  ["queue", (lh) => lh.queue("inbox", { order: "key" })],
  ["dropQueue", (lh) => lh.dropQueue("inbox")],
  ["worker.start", (lh) => lh.worker("inbox", { k: () => {} }).start()],
  ["workers", (lh) => lh.workers()],
  ["evict", (lh) => lh.evict("w")],
  ["ring", (lh) => lh.ring("inbox")],
  ["audit", (lh) => lh.audit()],
  ["grant", (lh) => lh.grant()],
  ["housekeep", (lh) => lh.housekeep()],
  ["fence", (lh) => lh.transaction((tx) => lh.fence(tx, "order:1", 1n))],
  ["once", (lh) => lh.transaction((tx) => lh.once(tx, "handler", "message"))],
  [
    "a supervisor",
    (lh) => createTenantSupervisor(lh, { start: () => {}, handlesSignals: false, fleet: true }).start(),
  ],
];

test.each(calls)(
  "%s on a database without the schema says that migrate() is missing",
  async (_name, call) => {
    const lh = await fresh();
    await expect((async () => await call(lh))()).rejects.toMatchObject(missing);
  },
);

test("on a client of the user's, fence and once say so too", async () => {
  const lh = await fresh();
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  onTestFinished(() => client.end());
  for (const call of [() => lh.fence(client, "order:1", 1n), () => lh.once(client, "handler", "message")]) {
    await client.query("begin");
    await expect(call()).rejects.toMatchObject(missing);
    await client.query("rollback");
  }
});

test("what is missing in the user's own SQL stays the server's error", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql(
    "create function leasehold.of_mine() returns trigger language plpgsql as $$ begin perform nowhere.nothing(); return new; end $$",
  );
  await world.sql(
    "create trigger mine before insert on leasehold.inbox for each row execute function leasehold.of_mine()",
  );
  await expect(inbox.enqueue("k", 1)).rejects.toMatchObject({
    code: "LH_DATABASE_REFUSED",
    sqlState: "3F000",
  });
});
