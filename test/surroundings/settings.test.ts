import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect } from "../../src/index.js";
import { ownDatabase, ownSuperuser } from "../support/own-database.js";
import { setup } from "../support/world.js";
import { until } from "../worker/worker-world.js";
import { live } from "./life.js";

/** Settings that a role or a database brings to every connection. */

test.each(["serializable", "repeatable read"])(
  "default_transaction_isolation = %s: it works",
  async (level) => {
    const url = await ownSuperuser({ default_transaction_isolation: `'${level}'` });
    await live(await setup({}, url.href));
  },
);

test("default_transaction_isolation = serializable on the database: it works", async () => {
  const url = await ownDatabase({ default_transaction_isolation: "serializable" });
  await live(await setup({}, url.href));
});

test.each(["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])(
  "%s = 1 s: it works",
  async (limit) => {
    const url = await ownSuperuser({ [limit]: "'1s'" });
    await live(await setup({}, url.href));
  },
);

test("statement_timeout = 100 ms while another process migrates: migrate() waits for it and works", async () => {
  const world = await setup();
  const other = await world.client();
  await other.query("select pg_advisory_lock(hashtextextended($1, 0))", [
    `leasehold migrations ${world.schema}`,
  ]);
  const url = await ownSuperuser({ statement_timeout: "'100ms'" });
  const lh = await world.connect({ url: url.href });
  const made = lh.queue("inbox", { order: "key" });
  let hasFailed = false;
  made.catch(() => {
    hasFailed = true;
  });
  const waits = `select 1 from pg_stat_activity where usename = $1 and wait_event = 'advisory'
    and clock_timestamp() > query_start + interval '200 ms'`;
  await until("it has waited for longer than statement_timeout, or failed", async () => {
    const isWaiting = (await world.sql(waits, [url.username])).length > 0;
    return isWaiting || hasFailed;
  });
  await other.query("select pg_advisory_unlock_all()");
  expect((await made).name).toBe("inbox");
  await lh.close();
  await world.sql(`reassign owned by ${url.username} to current_user`);
});

test.each<Record<string, string>>([
  {
    TimeZone: "'Asia/Kathmandu'",
    DateStyle: "'ISO, DMY'",
    IntervalStyle: "sql_standard",
    extra_float_digits: "0",
  },
  {
    TimeZone: "'<-13:37>13:37'",
    IntervalStyle: "postgres_verbose",
    extra_float_digits: "3",
    bytea_output: "escape",
  },
  {
    IntervalStyle: "iso_8601",
    client_encoding: "latin1",
    standard_conforming_strings: "off",
    array_nulls: "off",
  },
])("%o: it works", async (settings) => {
  const url = await ownSuperuser(settings);
  await live(await setup({}, url.href));
});

test.each([
  { setting: "default_transaction_read_only", value: "on" },
  { setting: "DateStyle", value: "'German'" },
  { setting: "DateStyle", value: "'Postgres, MDY'" },
  { setting: "extra_float_digits", value: "-15" },
])(
  "$setting = $value: it is refused at connect with LH_UNSUPPORTED_SERVER, which names it",
  async ({ setting, value }) => {
    const url = await ownSuperuser({ [setting]: value });
    await expect(connect({ url: url.href })).rejects.toMatchObject({
      code: "LH_UNSUPPORTED_SERVER",
      message: expect.stringMatching(new RegExp(`its ${setting} is`, "i")),
    });
  },
);

test("client_encoding of another kind, set by the pool: it is refused at connect with LH_UNSUPPORTED_SERVER, which names it", async () => {
  const pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 3 });
  onTestFinished(() => pool.end());
  pool.on("connect", (client) => void client.query("set client_encoding to 'latin1'"));
  await expect(connect({ pool })).rejects.toMatchObject({
    code: "LH_UNSUPPORTED_SERVER",
    message: expect.stringContaining("client_encoding"),
  });
});
