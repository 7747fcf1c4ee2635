import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/index.js";
import { ownDatabase } from "../support/own-database.js";
import { setup } from "../support/world.js";
import { live } from "./life.js";

/** A schema of somebody else's whose functions and tables have the names of ours and of pg_catalog's. */
async function hostileDatabase(searchPath: string): Promise<URL> {
  const url = await ownDatabase({ search_path: searchPath });
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await client.query("create schema hostile");
    for (const table of ourTables) await client.query(`create table hostile.${table} (trap int)`);
    const { rows } = await client.query<{ name: string; args: string[]; returns: string }>(
      `select p.proname as name, p.proargtypes::pg_catalog.regtype[]::text[] as args,
         case when p.proretset then 'setof ' else '' end || p.prorettype::pg_catalog.regtype::text as returns
       from pg_catalog.pg_proc p
       where p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace and p.prokind = 'f' and p.proname = any($1) and p.provariadic = 0
         and p.prorettype::pg_catalog.regtype::text not like 'any%' and p.prorettype <> 'internal'::pg_catalog.regtype`,
      [itsFunctions],
    );
    const made = new Set<string>();
    for (const { name, args, returns } of rows)
      for (const types of variantsOf(args)) {
        const signature = `hostile."${name}"(${types.join(", ")})`;
        if (made.has(signature)) continue;
        made.add(signature);
        await client.query(
          `create function ${signature} returns ${returns} language plpgsql as $$ begin raise exception 'trapped in ${name}(${types.join(", ")})'; end $$`,
        );
      }
    for (const name of ourFunctions)
      await client.query(
        `create function hostile."${name}"(variadic "any_given" text[]) returns int language plpgsql as $$ begin raise exception 'trapped in ${name}'; end $$`,
      );
  } finally {
    await client.end();
  }
  return url;
}

/** The same arguments, and those with one type that a call may match better. */
function variantsOf(args: readonly string[]): string[][] {
  return [
    [...args],
    ...args.flatMap((type, nth) =>
      (nearTypes[type] ?? []).map((near) => args.map((kept, n) => (n === nth ? near : kept))),
    ),
  ];
}

const nearTypes: Record<string, string[]> = {
  bigint: ["integer", "smallint"],
  "double precision": ["integer", "numeric", "bigint"],
  numeric: ["integer", "bigint"],
  text: ["character varying", "name"],
  regclass: ["text"],
  anyelement: ["text", "integer", "jsonb", "bigint"],
  anyarray: ["text[]", "integer[]", "bigint[]", "uuid[]"],
  "timestamp with time zone": ["timestamp without time zone", "date"],
};

const ourTables = [
  ...["queues", "workers", "migrations", "schema_version", "dedupe", "receipts", "by_key", "by_none"],
  ...["by_key_archive", "worker_lease", "pg_class", "pg_namespace", "pg_proc", "pg_roles", "pg_inherits"],
];
const itsFunctions = [
  ...["now", "clock_timestamp", "date_part", "date_trunc", "extract", "to_char", "make_interval", "round"],
  ...["current_setting", "set_config", "pg_backend_pid", "pg_notify", "pg_terminate_backend", "nextval"],
  ...[
    "hashtextextended",
    "hashtext",
    "pg_advisory_xact_lock",
    "pg_try_advisory_xact_lock",
    "pg_try_advisory_lock",
  ],
  ...[
    "to_regclass",
    "pg_relation_size",
    "cardinality",
    "generate_series",
    "jsonb_array_elements",
    "aclexplode",
  ],
  ...["length", "octet_length", "lower", "abs", "random", "pg_get_expr", "current_schemas"],
];
const ourFunctions = ["enqueue", "bucket_of", "wake_workers", "backoff", "allowed_now", "by_key_claim"];

test("a hostile schema first in search_path, behind pg_catalog as always: it works", async () => {
  const url = await hostileDatabase("hostile, public");
  await live(await setup({}, url.href));
});

test("a hostile schema before pg_catalog in search_path: it is refused at connect with LH_UNSUPPORTED_SERVER, which names search_path", async () => {
  const url = await hostileDatabase("hostile, pg_catalog, public");
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  onTestFinished(() => client.end());
  await expect(client.query("select now()")).rejects.toThrow("trapped in now");
  await expect(connect({ url: url.href })).rejects.toMatchObject({
    code: "LH_UNSUPPORTED_SERVER",
    message: expect.stringContaining("search_path"),
  });
});

test("no schema at all in search_path: it works", async () => {
  const url = await hostileDatabase("''");
  await live(await setup({}, url.href));
});
