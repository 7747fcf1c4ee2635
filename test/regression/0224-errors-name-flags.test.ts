import { expect, inject, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** Errors of the command line named options of the library, or gave advice that left out where the user had said the database is. */

test.each([
  [
    "enqueue inbox mail --delay 1s --at 2030-01-01",
    "--delay in ms is 1000; it must be left out when --at is given.",
  ],
  [
    "enqueue inbox mail --delay 99999d",
    "--delay in ms is 8639913600000; it must be a whole number from 0 to",
  ],
  ["enqueue inbox mail --max-attempts 0", "--max-attempts is 0; it must be a whole number from 1 to 1000."],
  ["enqueue inbox mail --priority 1", "--priority is 1; it must be left out: the queue inbox has order"],
  ["jobs list inbox --limit 0", "--limit is 0; it must be a whole number from 1 to 1000."],
  ["jobs list inbox --limit -1", "--limit is -1; it must be"],
  ["jobs list inbox --limit x", '--limit: "x" is no whole number.'],
  ["jobs list inbox --older 1w", '--older: "1w" is no length of time.'],
  ["jobs redrive inbox --limit 0", "--limit is 0; it must be a whole number from 1 to"],
  ["dead inbox --limit 0", "--limit is 0; it must be a whole number from 1 to 1000."],
  ["jobs get inbox 17", 'The id is "17"; it must be the id of a job (a UUID).'],
  ["jobs redrive inbox 17", 'The id is "17"; it must be the id of a job (a UUID).'],
  [
    "queues change inbox --retention 0",
    "--retention in ms is 0; it must be over 0: this queue keeps an archive.",
  ],
  ["queues change inbox --max-crashes 0", "--max-crashes is 0; it must be a whole number from 1 to 1000."],
  ["queues create other --buckets 0", "--buckets is 0; it must be a whole number from 1 to 1024."],
  [
    "queues change inbox",
    "There is nothing to change.\nadvice: Give at least one of --max-attempts, --max-crashes,",
  ],
])("%s is refused in words of the command line", async (line, words) => {
  const world = await setup();
  await world.queue("inbox", { order: "key" });
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const ran = await leasehold(line.split(" "), { environment });
  expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
  expect(ran.stderr).toContain(words);
});

test("an address that is none is repeated as it was given, without its password", async () => {
  const refused = async (url: string): Promise<string> => (await leasehold(["queues", "--url", url])).stderr;
  expect(await refused("localhost")).toContain('--url is "localhost"; it must be a PostgreSQL URL');
  expect(await refused("mysql://bob:hunter2@db/shop")).toContain(
    '--url is "mysql://***@db/shop"; it must be',
  );
  const port = await refused("postgres://bob:hunter2@db:port/shop");
  expect(port).toContain('--url is "postgres://***@db:port/shop"; it must be');
  const byEnvironment = await leasehold(["queues"], { environment: { DATABASE_URL: "localhost" } });
  expect(byEnvironment.stderr).toContain('DATABASE_URL is "localhost"; it must be a PostgreSQL URL');
});

test("advice to migrate repeats the flags that say where", async () => {
  const adviceOf = async (...flags: string[]): Promise<string> => {
    const environment = { DATABASE_URL: inject("databaseUrl") };
    return (await leasehold(["queues", ...flags], { environment })).stderr;
  };
  expect(await adviceOf("--schema", "absent_x")).toMatch(/: leasehold migrate --schema absent_x\n$/);
  expect(await adviceOf("--schema", "absent_x", "--url", inject("databaseUrl"))).toMatch(
    /: leasehold migrate --url <the same URL> --schema absent_x\n$/,
  );
});

test("no message says what to call in the library", async () => {
  const world = await setup();
  const queue = await world.queue();
  await queue.enqueue("mail", {});
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  for (const line of ["status --schema absent_x", "jobs list nosuch", "queues drop inbox --yes"]) {
    const { stderr } = await leasehold(line.split(" "), { environment });
    expect(stderr, line).not.toMatch(/\blh\.|\{/);
    expect(stderr, line).toMatch(/^error LH_\w+: .*\.\nadvice: .*(--force|leasehold )/);
  }
});
