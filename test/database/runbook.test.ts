import { expect, onTestFinished, test } from "vitest";
import { InvalidOptionError, runbook, runbookSql, UnknownQueueError } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** An example for every parameter. */
function examplesOf(name: string): Readonly<Record<string, string>> {
  const parameters = runbook.find((entry) => entry.name === name)?.parameters ?? [];
  return Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.example]));
}

/** What psql makes of the text: it reads the \set lines and puts quoted values in. */
function asPsqlSends(text: string): string {
  const values = new Map(
    [...text.matchAll(/^\\set (\w+) '(.*)'$/gm)].map(([, name, value]) => [name, value]),
  );
  const sql = text.replace(/^\\set .*\n/gm, "");
  return sql.replace(/(?<!:):'(\w+)'/g, (_all, name: string) => `'${values.get(name)}'`);
}

test("every query answers under other names, with the columns that its header names, in values that JSON has", async () => {
  const world = await setup();
  await world.queue("mail", { order: "key" });
  const client = await world.client();
  const safe = new Set([16, 20, 23, 25, 701, 1184, 2950]); // bool, int8, int4, text, float8, timestamptz, uuid
  for (const { name, columns } of runbook) {
    const text = runbookSql(name, { schema: world.schema, queue: "mail", ...examplesOf(name) });
    const { fields } = await client.query(asPsqlSends(text));
    expect([name, ...fields.map((field) => field.name)]).toEqual([name, ...columns.map((one) => one.name)]);
    expect([name, ...fields.filter((field) => !safe.has(field.dataTypeID))]).toEqual([name]);
    const answer = await world.lh.runbook(name, { queue: "mail", ...examplesOf(name) });
    expect(answer.columns).toEqual(columns.map((one) => one.name));
    expect(answer.rows.every((row) => JSON.stringify(row).includes(":"))).toBe(true);
  }
});

test("a query can't write, not even through a function that it calls", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("step", 1);
  await world.sql(
    `create or replace function leasehold.bucket_of(p_key text, p_buckets int) returns int language plpgsql volatile as
     $$ begin insert into leasehold.duties values ('written', now()); return 1; end $$`,
  );
  const asked = world.lh.runbook("line-of-key", { key: "k" });
  await expect(asked).rejects.toThrow("read-only transaction");
  expect(await world.sql("select 1 from leasehold.duties where name = 'written'")).toEqual([]);
});

test("an unknown name, option, queue or a missing value is refused, with what was probably meant", async () => {
  const { lh } = await setup();
  await expect(lh.runbook("oldest_dew")).rejects.toThrow("did you mean oldest-due?");
  await expect(lh.runbook("nothing like it")).rejects.toThrow(/oldest-due, expired-leases, .*held-by/);
  await expect(lh.runbook(7 as never)).rejects.toThrow(InvalidOptionError);
  await expect(lh.runbook("oldest-due", { queu: "inbox" })).rejects.toThrow("did you mean queue?");
  await expect(lh.runbook("oldest-due", { key: "k" })).rejects.toThrow("has no option of this name");
  await expect(lh.runbook("line-of-key")).rejects.toThrow("text: the partition key");
  await expect(lh.runbook("line-of-key", { key: "a\u0000" })).rejects.toThrow(InvalidOptionError);
  await expect(lh.runbook("oldest-due", { queue: "Inbox;" })).rejects.toMatchObject({
    code: "LH_INVALID_NAME",
  });
  await expect(lh.runbook("oldest-due", { queue: "missing" })).rejects.toThrow(UnknownQueueError);
  await expect(lh.runbook("oldest-due", null as never)).rejects.toThrow(InvalidOptionError);
  expect(await lh.runbook("held-snapshots")).toMatchObject({
    columns: expect.arrayContaining(["xids_behind"]),
  });
  expect((await lh.runbook("restart-loops")).rows).toEqual([]);
});

test("the text for psql has the names and values given, quoted", () => {
  const text = runbookSql("line-of-key", { schema: "work", queue: "mail", key: "it's \\ here\n" });
  expect(text.split("\n")[0]).toBe("\\set key 'it''s \\\\ here\\n'");
  expect(text).toContain("from work.mail j");
  expect(text).not.toMatch(/leasehold|inbox/);
  expect(runbookSql("line-of-key").split("\n")[0]).toBe("\\set key 'order:9182'");
  expect(() => runbookSql("line-of-key", { schema: "a b" })).toThrow("schema");
});

async function granted(): Promise<World> {
  const world = await setup();
  await world.queue();
  await world.lh.grant();
  const names = ["producer", "worker", "viewer", "operator"]
    .map((role) => `${world.schema}_${role}`)
    .join(", ");
  onTestFinished(async () => {
    await world.sql(`drop owned by ${names}`);
    await world.sql(`drop role ${names}`);
  });
  return world;
}

test("a viewer may run every query; of others' sessions it sees pid and age, not since when nor what", async () => {
  const world = await granted();
  const url = new URL(world.url);
  url.searchParams.set("options", `-c role=${world.schema}_viewer`);
  const viewer = await world.connect({ url: url.href, connectionsMax: 2 });
  for (const { name } of runbook) await viewer.runbook(name, examplesOf(name));
  const idle = await world.client();
  await idle.query("begin isolation level repeatable read");
  const { rows } = await idle.query<{ pid: number }>("select pg_backend_pid() as pid");
  const seen = (await viewer.runbook("held-snapshots")).rows.find((row) => row.name === String(rows[0]?.pid));
  expect(seen).toMatchObject({
    holder: "session",
    xids_behind: expect.any(Number),
    since: null,
    state: null,
  });
  await idle.query("commit");
});
