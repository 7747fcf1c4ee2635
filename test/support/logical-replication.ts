import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { startPostgres } from "../../src/embedded.js";
import { setup, type World } from "./world.js";

/** A publication for all tables, and a subscriber to it: two databases of one server with wal_level logical. */
export async function logicalServer(): Promise<{ publisher: string; subscriber: string }> {
  const server = await startPostgres({
    settings: {
      wal_level: "logical",
      wal_retrieve_retry_interval: "100ms",
      max_logical_replication_workers: "12",
      max_worker_processes: "16",
      max_replication_slots: "20",
    },
  });
  onTestFinished(() => server.stop());
  const subscriber = new URL(server.url);
  subscriber.pathname = "/subscriber";
  await onClient(server.url, (client) => client.query("create database subscriber"));
  return { publisher: server.url, subscriber: subscriber.href };
}

export async function onClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** `prepare` gives the subscriber the same tables, since DDL is not replicated; what is in them comes from the publisher. */
export async function subscribe(
  world: World,
  to: string,
  prepare: (copy: World) => Promise<void>,
): Promise<World> {
  const copy = await setup({ schema: world.schema }, to);
  await prepare(copy);
  const tables = (
    await copy.sql<{ name: string }>(
      "select oid::regclass::text as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition",
      [world.schema],
    )
  ).map(({ name }) => name);
  await copy.sql(`truncate ${tables.join(", ")}`);
  await world.sql("select pg_create_logical_replication_slot('everything', 'pgoutput')");
  await copy.sql(
    `create subscription everything connection '${new URL(world.url).href}' publication everything with (create_slot = false)`,
  );
  await caughtUp(world, copy);
  return copy;
}

/** Waits until every table has its first copy and the subscriber has confirmed all that was written so far. */
export async function caughtUp(world: World, copy: World): Promise<void> {
  const limit = { timeout: 50_000, interval: 100 };
  await expect
    .poll(
      () =>
        copy.sql(
          "select srrelid::regclass::text as table, srsubstate as state from pg_subscription_rel where srsubstate <> 'r'",
        ),
      limit,
    )
    .toEqual([]);
  const [end] = await world.sql<{ lsn: string }>("select pg_current_wal_lsn() as lsn");
  await expect
    .poll(
      () =>
        world.sql(
          "select 1 as done from pg_replication_slots where confirmed_flush_lsn >= $1::pg_lsn and active",
          [end?.lsn],
        ),
      limit,
    )
    .toEqual([{ done: 1 }]);
}

/** The rows of every table that has some, without partitions of the archive, which are read through it. */
export async function contents(url: string, schema: string): Promise<Record<string, unknown[]>> {
  return await onClient(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition order by 1",
      [schema],
    );
    const all: Record<string, unknown[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: unknown }>(
        `select to_jsonb(t) as row from ${schema}.${name} t order by to_jsonb(t)::text collate "C"`,
      );
      all[name] = rows.map(({ row }) => row);
    }
    return all;
  });
}
