import { execFileSync } from "node:child_process";
import { expect, inject, onTestFinished, test } from "vitest";
import { ask, startForTest } from "../embedded/server-world.js";
import { downstream, expectFenced, expectRefusedUntilAccepted, open, work } from "./downstream.js";

const database = (url: string, name: string): string =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;

test("a copy of a database is refused until it is accepted; then its tokens are higher", async () => {
  const server = await startForTest();
  await ask(server.url, "create database original");
  const fence = await downstream();
  const { lh, inbox } = await open(database(server.url, "original"));
  await work(inbox, fence, 3);
  await lh.close();
  await ask(server.url, "create database copy template original");
  const again = await open(database(server.url, "original"));
  const zombie = await work(again.inbox, fence);

  const copy = database(server.url, "copy");
  await expectRefusedUntilAccepted(copy);
  await expectFenced((await open(copy)).inbox, fence, zombie);
});

test("a schema whose tables were all emptied draws tokens as before", async () => {
  const server = await startForTest();
  const { inbox } = await open(server.url);
  await ask(server.url, "truncate leasehold.schema_place");
  await ask(server.url, "select setval('leasehold.lease_tokens', 41)");
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "a" });
  expect(job?.fenceToken).toBeGreaterThan(41n);
  expect(job?.fenceToken).toBeLessThan(100n);
  expect(await ask(server.url, "select count(*) from leasehold.schema_place")).toBe("1");
});

test("a server that did not tell its timeline before, and does now, is believed from then on", async () => {
  const server = await startForTest();
  const { inbox } = await open(server.url);
  await ask(server.url, "update leasehold.schema_place set timeline = null");
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "a" });
  expect(job?.fenceToken).toBeLessThan(100n);
  expect(await ask(server.url, "select timeline from leasehold.schema_place")).toBe("1");
});

/** Null where there is none for the server of the tests. */
function pgDump(server: string): ((url: string) => string) | null {
  try {
    const version = execFileSync("pg_dump", ["--version"], { encoding: "utf8" });
    if (!version.includes(` ${server}.`)) return null;
  } catch {
    return null;
  }
  return (url) => execFileSync("pg_dump", ["--dbname", url], { encoding: "utf8" });
}

test("a dump that was loaded in the place of the original is refused until it is accepted", async (context) => {
  const server = inject("databaseUrl");
  const major = await ask(server, "select current_setting('server_version_num')::int / 10000");
  const dump = pgDump(major);
  context.skip(dump === null, `needs pg_dump of PostgreSQL ${major}`);
  if (dump === null) return;
  const name = `restore_${process.pid}`;
  await ask(server, `create database ${name}`);
  onTestFinished(async () => void (await ask(server, `drop database ${name} with (force)`)));
  const url = database(server, name);

  const fence = await downstream();
  const { lh, inbox } = await open(url);
  await work(inbox, fence, 3);
  const text = dump(url);
  const zombie = await work(inbox, fence);
  await lh.close();
  await ask(url, "drop schema leasehold cascade");
  execFileSync("psql", ["--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url], { input: text });

  await expectRefusedUntilAccepted(url);
  await expectFenced((await open(url)).inbox, fence, zombie);
  expect(await ask(url, "select count(*) from leasehold.schema_place")).toBe("1");
});
