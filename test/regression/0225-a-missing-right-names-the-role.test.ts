import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { leasehold, type Ran } from "../cli/in-process.js";
import { setup, type World } from "../support/world.js";

/** A command that the server refused for want of a right (42501) said "read sqlState and the message", and not which role has it. */

async function asGuest(world: World): Promise<(line: string) => Promise<Ran>> {
  const role = `guest_${world.schema}`;
  await world.sql(`create role ${role} login password 'guest'`);
  onTestFinished(async () => {
    const admin = new pg.Client({ connectionString: inject("databaseUrl") });
    await admin.connect();
    await admin.query(`drop owned by ${role}`);
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  const url = new URL(inject("databaseUrl"));
  url.username = role;
  url.password = "guest";
  const environment = { DATABASE_URL: url.href, LEASEHOLD_SCHEMA: world.schema };
  return (line) => leasehold(line.split(" "), { environment });
}

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const commands = [
  ["viewer", "status"],
  ["viewer", "doctor"],
  ["viewer", "queues"],
  ["viewer", "queues show inbox"],
  ["viewer", "jobs list inbox"],
  ["viewer", `jobs get inbox ${id}`],
  ["viewer", `jobs why inbox ${id}`],
  ["viewer", "dead"],
  ["viewer", "dead inbox"],
  ["viewer", "workers"],
  ["viewer", "ring inbox"],
  ["viewer", "tenants"],
  ["viewer", "history"],
  ["viewer", "runbook oldest-due"],
  ["viewer", "audit"],
  ["producer", "enqueue inbox mail"],
  ["operator", "jobs redrive inbox --yes"],
  ["operator", `jobs discard inbox ${id} --yes`],
  ["operator", "dead redrive inbox 0123456789ab --yes"],
  ["operator", "queues pause inbox"],
  ["operator", "queues resume inbox"],
  ["operator", "workers drain web-1 --yes"],
  ["operator", "workers evict web-1 --yes"],
  [null, "queues create other"],
  [null, "queues change inbox --max-attempts 3"],
  [null, "queues drop inbox --yes"],
  [null, "grant"],
  [null, "migrate"],
] as const;

test("every command names the role that may do it, to a role without any right", async () => {
  const world = await setup();
  await world.queue();
  const run = await asGuest(world);
  const user = `guest_${world.schema}`;
  for (const [role, line] of commands) {
    const { exitCode, stdout, stderr } = await run(line);
    expect({ line, exitCode, stdout, stderr }).toMatchObject({ exitCode: 1, stdout: "" });
    const member = `advice: Connect as a member of ${world.schema}_${role}, or let the owner of the schema run: leasehold grant; then in psql: grant ${world.schema}_${role} to ${user};`;
    expect(stderr, line).toContain(
      role === null ? "advice: Connect with --url or DATABASE_URL as the owner of the schema" : member,
    );
  }
});

test("so does the worker", async () => {
  const world = await setup();
  await world.queue();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "worker.mjs");
  await writeFile(file, `export const queue = "inbox";\nexport const handlers = { hello() {} };\n`);
  const { exitCode, stderr } = await (await asGuest(world))(`worker ${file}`);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 1 });
  expect(stderr).toContain(`advice: Connect as a member of ${world.schema}_worker`);
});

test("so does one that may look and wants to act", async () => {
  const world = await setup();
  await world.lh.migrate();
  const queue = await world.queue();
  await queue.enqueue("mail", {});
  const run = await asGuest(world);
  const user = `guest_${world.schema}`;
  await world.sql(`grant usage on schema ${world.schema} to ${user}`);
  await world.sql(`grant select on all tables in schema ${world.schema} to ${user}`);
  for (const [role, line] of [
    ["producer", "enqueue inbox mail"],
    ["operator", "jobs discard inbox --status pending --yes"],
    ["operator", "queues pause inbox"],
  ]) {
    const { exitCode, stderr } = await run(line ?? "");
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1 });
    expect(stderr, line).toContain(`advice: Connect as a member of ${world.schema}_${role}`);
  }
});
