import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { nodePostgresSessions } from "../../src/adapters/node-postgres-session.js";
import { defaults, type Leasehold } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { heard, until } from "../worker/worker-world.js";

const readOnly = "set default_transaction_read_only = on";

/** A pool whose connections lead to a server that was demoted after connect(), while new ones lead to its successor. */
async function demotedPool(world: World): Promise<{ lh: Leasehold; pids: number[] }> {
  const pool = new pg.Pool({ connectionString: world.url, max: 3, idleTimeoutMillis: 0 });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool });
  const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
  const pids: number[] = [];
  for (const client of clients) {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    pids.push(rows[0]!.pid);
    await client.query(readOnly);
    client.release();
  }
  return { lh, pids };
}

async function untilGone(world: World, pids: number[]): Promise<void> {
  const left = "select pid from pg_stat_activity where pid = any($1)";
  await until("the connections are closed", async () => (await world.sql(left, [pids])).length === 0);
}

test("a statement that meets a read-only connection runs on a new one, and the old one is not kept", async () => {
  const world = await setup();
  await world.queue();
  const { lh, pids } = await demotedPool(world);
  const retried = heard(lh, "database:retried");
  const inbox = await lh.queue("inbox");
  const { id } = await inbox.enqueue("receipt.send", { order: 9182 });
  expect(await world.sql("select id from leasehold.inbox")).toEqual([{ id }]);
  expect(retried.length).toBeGreaterThan(0);
  expect(retried.filter(({ reason }) => !reason.includes("25006"))).toEqual([]);
  await untilGone(world, pids);
});

test("a user's transaction has the server's own error, and its connection is not kept", async () => {
  const world = await setup();
  await world.sql("create table leasehold.effects (n int)");
  const { lh, pids } = await demotedPool(world);
  let met = 0;
  const write = lh.transaction(async (tx) => {
    met = ((await tx.query("select pg_backend_pid() as pid")).rows[0] as { pid: number }).pid;
    await tx.query(`insert into ${world.schema}.effects values (1)`);
  });
  await expect(write).rejects.toMatchObject({ code: "25006" });
  expect(pids).toContain(met);
  await untilGone(world, [met]);
});

test("a server that stays read-only is named as such, not as lost", async () => {
  const world = await setup();
  await world.queue();
  const pool = new pg.Pool({ connectionString: world.url, max: 3 });
  onTestFinished(() => pool.end());
  let isDemoted = false;
  const demote = (client: pg.PoolClient): void => void (isDemoted && client.query(readOnly));
  pool.on("connect", demote);
  pool.on("acquire", demote);
  const inbox = await (await world.connect({ pool })).queue("inbox");
  isDemoted = true;
  await expect(inbox.enqueue("receipt.send", 1)).rejects.toMatchObject({
    code: "LH_READ_ONLY_SERVER",
    sqlState: "25006",
  });
});

test("a session that meets a read-only server is over", async () => {
  const world = await setup();
  await world.sql("create table leasehold.effects (n int)");
  const settings = { ...defaults, config: { connectionString: world.url } };
  const lost: string[] = [];
  const session = await nodePostgresSessions(settings).open({
    onNotice: () => {},
    onLost: (reason) => lost.push(reason),
  });
  onTestFinished(() => session.close());
  await session.run({ name: "demote", text: readOnly, values: [] });
  const write = { name: "write", text: `insert into ${world.schema}.effects values (1)`, values: [] };
  await expect(session.run(write)).rejects.toMatchObject({ sqlState: "25006" });
  expect(lost).toHaveLength(1);
});
