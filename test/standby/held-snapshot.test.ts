import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { listSnapshotHolders } from "../../src/database/statements.generated.js";
import { hotStandby } from "../support/hot-standby.js";
import { until } from "../worker/worker-world.js";

async function client(url: string): Promise<pg.Client> {
  const opened = new pg.Client({ connectionString: url });
  await opened.connect();
  onTestFinished(() => opened.end());
  return opened;
}

test("a standby that passes on its snapshots is named among what holds old row versions", async () => {
  const { primary, standby } = await hotStandby();
  const reader = await client(standby.url);
  await reader.query("alter system set hot_standby_feedback = on");
  await reader.query("alter system set wal_receiver_status_interval = '1s'");
  await reader.query("select pg_reload_conf()");
  await reader.query("begin isolation level repeatable read");
  await reader.query("select count(*) from leasehold.queues");
  const asker = await client(primary.url);
  const { text, values } = binder({ schema: "leasehold", queue: "inbox" })(listSnapshotHolders, { limit: 5 });
  await until("the standby is listed", async () => {
    const { rows } = await asker.query<{ sort: string }>(text, [...values]);
    return rows.some(({ sort }) => sort === "standby");
  });
  await reader.query("rollback");
  expect((await asker.query(text, [...values])).rowCount).toBeGreaterThan(0);
});
