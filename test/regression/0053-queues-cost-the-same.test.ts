import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { setup } from "../support/world.js";

/** Every new queue revoked rights on the functions of all queues: 150 queues made pg_proc 823 MB large. */

async function ownDatabase(): Promise<string> {
  const url = new URL(inject("databaseUrl"));
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  const name = `queues_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  await admin.query(`create database ${name}`);
  onTestFinished(async () => {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  url.pathname = `/${name}`;
  return url.href;
}

test("a queue writes as much to the catalog as the first one did, however many there are", async () => {
  const world = await setup({}, await ownDatabase());
  const catalogBytes = async () => {
    const [row] = await world.sql<{ bytes: number }>(
      "select sum(pg_table_size(oid))::float8 as bytes from pg_class where oid in ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_attribute'::regclass, 'pg_depend'::regclass)",
    );
    return row?.bytes ?? 0;
  };
  const grownBy = async (from: number, to: number) => {
    const before = await catalogBytes();
    for (let nth = from; nth <= to; nth++)
      await world.queue(`q${nth}`, { order: nth % 2 === 0 ? "key" : "none" });
    return (await catalogBytes()) - before;
  };
  await grownBy(1, 4);
  const first = await grownBy(5, 14);
  await grownBy(15, 30);
  const last = await grownBy(31, 40);
  expect(last).toBeLessThan(1.5 * first);
});

test.each(["no default", "a default of the schema", "a default for all schemas"])(
  "no function of a queue is open to everybody, with %s for new functions",
  async (defaults) => {
    const world = await setup({}, await ownDatabase());
    const role = `${world.schema}_owner`;
    await world.sql(`create role ${role} superuser login password 'secret'`);
    onTestFinished(async () => void (await world.sql(`drop owned by ${role}; drop role ${role}`)));
    if (defaults === "a default of the schema")
      await world.sql(
        `alter default privileges for role ${role} in schema ${world.schema} grant execute on functions to public`,
      );
    if (defaults === "a default for all schemas")
      await world.sql(`alter default privileges for role ${role} grant execute on functions to pg_monitor`);
    const url = new URL(world.url);
    url.username = role;
    url.password = "secret";
    const before = await world.sql("select * from pg_default_acl");
    const lh = await world.connect({ url: url.href });
    await lh.queue("fifo", { order: "key" });
    await lh.queue("bag", { order: "none" });
    const open = await world.sql(
      `select p.oid::regprocedure::text as call from pg_proc p
       where p.pronamespace = $1::regnamespace and p.proname <> 'attaching_day' and (p.proacl is null or exists (select 1 from aclexplode(p.proacl) a where a.grantee = 0))`,
      [world.schema],
    );
    expect(open).toEqual([]);
    expect(await world.sql("select * from pg_default_acl")).toEqual(before);
  },
);
