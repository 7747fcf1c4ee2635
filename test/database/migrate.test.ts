import { execFile, execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrations } from "../../src/database/migrations.generated.js";
import { connect, deadLetter, type Leasehold, type Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

const ofSchema = migrations
  .filter((migration) => migration.scope === "schema")
  .map((migration) => migration.id);
const ofQueue = (order: "key" | "none"): number[] =>
  migrations
    .filter(({ scope, order: only }) => scope === "queue" && (only === null || only === order))
    .map((migration) => migration.id);

/** The files, without the grants, which have a row too. */
async function applied(world: World, queue: string): Promise<number[]> {
  const rows = await world.sql<{ id: number; name: string }>(
    "select id, name from leasehold.migrations where queue = $1 order by id",
    [queue],
  );
  expect(rows.filter((row) => row.name === "grants")).toEqual([{ id: 0, name: "grants" }]);
  return rows.slice(1).map((row) => row.id);
}

/** A world whose schema does not exist yet. */
async function fresh(): Promise<World> {
  const world = await setup();
  await world.sql(`drop schema ${world.schema} cascade`);
  return world;
}

async function start(lh: Leasehold): Promise<{ ran: number; queue: Queue }> {
  const ran = await lh.migrate();
  return { ran, queue: await lh.queue("inbox", { order: "key" }) };
}

test("twenty that connect, migrate and open the queue at once all succeed, and each step runs once", async () => {
  const world = await fresh();
  const started = await Promise.all(
    Array.from({ length: 20 }, async () => await start(await world.connect({ connectionsMax: 2 }))),
  );
  expect(started.reduce((sum, { ran }) => sum + ran, 0)).toBe(ofSchema.length);
  expect(await applied(world, "")).toEqual(ofSchema);
  expect(await applied(world, "inbox")).toEqual(ofQueue("key"));
  await Promise.all(started.map(({ queue }, i) => queue.enqueue("step", i)));
  expect(await started[0]!.queue.stats()).toMatchObject({ due: 20 });
});

test("five processes that start at once find or make the same schema", async () => {
  const world = await fresh();
  const compiled = resolve("build/migrate-test");
  const compiler = resolve("node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", compiled]);
  const program = `
    import { connect } from ${JSON.stringify(join(compiled, "src/index.js"))};
    const lh = await connect(${JSON.stringify({ url: world.url, schema: world.schema })});
    const ran = await lh.migrate();
    const inbox = await lh.queue("inbox", { order: "key" });
    await inbox.enqueue("step", process.pid);
    await lh.close();
    console.log(ran);`;
  const run = promisify(execFile);
  const ends = await Promise.all(
    Array.from({ length: 5 }, () => run(process.execPath, ["--input-type=module", "--eval", program])),
  );
  expect(ends.reduce((sum, { stdout }) => sum + Number(stdout), 0)).toBe(ofSchema.length);
  expect(await applied(world, "inbox")).toEqual(ofQueue("key"));
  expect(await world.sql("select 1 from leasehold.inbox")).toHaveLength(5);
});

test("migrate tells what it applied, and the second time there is nothing to do", async () => {
  const world = await fresh();
  const lh = await world.connect();
  const names: string[] = [];
  lh.on("migration:applied", ({ name, queue }) => names.push(`${queue}${name}`));
  expect(await lh.migrate()).toBe(ofSchema.length);
  expect(await lh.migrate()).toBe(0);
  await lh.queue("inbox", { order: "key" });
  expect(await lh.migrate()).toBe(0);
  expect(names).toEqual(migrations.filter(({ scope }) => scope === "schema").map(({ name }) => name));
});

test("a start that ended right after its first step is taken up by the next one", async () => {
  const world = await setup();
  await world.sql("delete from leasehold.migrations");
  await world.sql("drop table leasehold.queues cascade");
  expect(await world.lh.migrate()).toBe(ofSchema.length);
  expect(await applied(world, "")).toEqual(ofSchema);
});

test("migrations of an older schema and of its queues are caught up with, and may run over what is there", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.queue("mail", { order: "none" });
  const { id } = await inbox.enqueue("step", 1);
  await world.sql("delete from leasehold.migrations");
  expect(await world.lh.migrate()).toBe(ofSchema.length + ofQueue("key").length + ofQueue("none").length);
  expect(await applied(world, "inbox")).toEqual(ofQueue("key"));
  expect(await applied(world, "mail")).toEqual(ofQueue("none"));
  expect(await inbox.claim({ workerId: "w1" })).toMatchObject([{ id }]);
});

test("a lock held on a queue's table delays a migration and does not fail it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await world.sql("delete from leasehold.migrations where queue = 'inbox' and id = 3");
  const holder = await world.client();
  await holder.query("begin");
  await holder.query(`lock table ${world.schema}.inbox in access exclusive mode`);
  let waits = 0;
  const sleep = async (): Promise<void> => {
    waits += 1;
    if (waits === 2) await holder.query("rollback");
  };
  const lh = await world.connect({ clock: { ...settableClock(), databaseNow: () => null, sleep } });
  expect(await lh.migrate()).toBe(1);
  expect(waits).toBe(2);
  expect(await inbox.enqueue("step", 1)).toMatchObject({ duplicate: false });
});

test("a queue that is opened before the schema was migrated says so and makes nothing", async () => {
  const world = await fresh();
  const lh = await world.connect();
  const opened = lh.queue("inbox", { order: "key" });
  await expect(opened).rejects.toMatchObject({ name: "NotMigratedError", code: "LH_NOT_MIGRATED" });
  await expect(opened).rejects.toThrow(world.schema);
  expect(await world.sql("select 1 from pg_namespace where nspname = $1", [world.schema])).toEqual([]);
});

test("a server older than PostgreSQL 14 is refused when connecting", async () => {
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 2 });
  onTestFinished(() => pool.end());
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<pg.QueryResult>;
    const older = async (...args: unknown[]): Promise<pg.QueryResult> => {
      const result = await query(...args);
      for (const row of result.rows) if ("version" in row) row.version = 130_022;
      return result;
    };
    Object.assign(client, { query: older });
  });
  await expect(connect({ pool })).rejects.toMatchObject({
    code: "LH_UNSUPPORTED_SERVER",
    message: "The server can't be used: it is PostgreSQL 13, Leasehold needs 14 or newer.",
  });
});

/** Every verb of a queue once: to the archive, to the dead letters and back, and out. */
async function wholeLife(lh: Leasehold, queue: Queue): Promise<void> {
  const [first] = await queue.enqueueMany(
    [1, 2].map((n) => ({ kind: "step", payload: n, partitionKey: "k" })),
  );
  const { id: keyed } = await queue.enqueue("step", 3, { partitionKey: "k", idempotencyKey: "three" });
  expect(await queue.enqueue("step", 3, { idempotencyKey: "three" })).toEqual({ id: keyed, duplicate: true });
  await queue.enqueue("step", 4, { delayMs: 3_600_000 });
  const jobs = await queue.claim({ workerId: "w1", limit: 3 });
  expect(jobs.map((job) => job.payload)).toEqual([1, 2, 3]);
  const [one, two, three] = jobs;
  expect(await queue.renew(one!)).toMatchObject({ state: "renewed" });
  await one!.transaction(async (tx) => await lh.fence(tx, "k", one!.fenceToken));
  expect(await queue.fail(two!, deadLetter("no"))).toBe(true);
  expect(await queue.release(three!)).toBe(true);
  expect(await queue.retry({ status: "dead_letter" })).toBe(1);
  expect(await queue.discard({ ids: [keyed] })).toBe(1);
  expect((await queue.why(first!.id)).reason).toBe("completed");
  expect((await queue.why(two!.id)).reason).toBe("no_workers");
  expect(await lh.housekeep()).toMatchObject({ elected: true });
  expect(await queue.list({ status: "discarded" })).toMatchObject([{ id: keyed }]);
  expect(await queue.stats()).toMatchObject({ processing: 0, deadLetter: 0 });
  const fromSql = { queue: queue.name, kind: "step", partition_key: "sql" };
  const text = `select * from ${lh.schema}.enqueue($1::jsonb)`;
  expect(await lh.transaction(async (tx) => (await tx.query(text, [fromSql])).rows)).toHaveLength(1);
}

test.each(["key", "none"] as const)(
  "names of 48 characters work through the whole life (order %s)",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const schema = `${world.schema}_`.padEnd(48, "s");
    onTestFinished(async () => void (await world.sql(`drop schema if exists ${schema} cascade`)));
    const lh = await world.connect({ schema });
    await lh.migrate();
    const queue = await lh.queue("q".repeat(48), { order, buckets: 1 });
    await wholeLife(lh, queue);
    clock.advance(10 * 86_400_000);
    expect(await lh.housekeep()).toMatchObject({ daysMade: 8 });
    const other = await lh.queue(`${"q".repeat(47)}r`, { order, buckets: 1 });
    await wholeLife(lh, other);
  },
);

test.each(["user", "order", "select", "inbox", "leasehold"])("a queue may be named %s", async (name) => {
  const world = await setup();
  await wholeLife(world.lh, await world.queue(name, { order: "key", buckets: 1 }));
});

test.each([1, 7, 1_024])(
  "a queue of %d buckets spreads its keys over all of them and over no others",
  async (buckets) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order: "key", buckets });
    const keys = Array.from({ length: 5_000 }, (_, i) => `order:${i}`);
    await inbox.enqueueMany(keys.map((partitionKey) => ({ kind: "step", payload: 1, partitionKey })));
    const [spread] = await world.sql(
      `select min(partition_bucket), max(partition_bucket), count(distinct partition_bucket)::int as used,
       bool_and(partition_bucket = leasehold.bucket_of(partition_key, $1)) as agrees from leasehold.inbox`,
      [buckets],
    );
    expect(spread).toMatchObject({ min: 0, max: buckets - 1, agrees: true });
    expect(spread!.used).toBeGreaterThan(buckets * 0.95);
    expect(await inbox.claim({ workerId: "w1", limit: 5_000 })).toHaveLength(5_000);
    await expect(inbox.claim({ workerId: "w1", buckets: [buckets] })).rejects.toMatchObject({
      option: "buckets",
    });
  },
);

test("two queues of one schema with different orders keep apart", async () => {
  const world = await setup();
  const [inbox, mail] = [
    await world.queue("inbox"),
    await world.queue("mail", { order: "none", buckets: 3 }),
  ];
  for (const queue of [inbox, mail]) {
    const priorityOf = (n: number) => (queue === mail ? { priority: -n } : {});
    const jobs = [1, 2].map((n) => ({ kind: queue.name, payload: n, partitionKey: "k", ...priorityOf(n) }));
    await queue.enqueueMany(jobs);
    await queue.enqueue(queue.name, 3, { partitionKey: "k", idempotencyKey: "same in both" });
  }
  await mail.pause();
  expect((await inbox.claim({ workerId: "w1" })).map((job) => job.payload)).toEqual([1, 2, 3]);
  expect(await mail.claim({ workerId: "w1" })).toEqual([]);
  await mail.resume();
  expect((await mail.claim({ workerId: "w1" })).map((job) => job.payload)).toEqual([2, 1, 3]);
  expect((await world.lh.queue("mail")).settings).toMatchObject({ order: "none", buckets: 3 });
});
