import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { failureOf } from "../../cli/failure.js";
import { loadWorkers } from "../../cli/worker-file.js";
import { chosenLogger } from "../../src/adapters/stderr-logger.js";
import { setup } from "../support/world.js";
import { leasehold } from "./in-process.js";

/** Clears the screen, sets the title of the window, and begins a line of its own. */
const evil = "\u001b[2J\u001b]0;title\u0007\nfaked\u200e";

function expectPlain(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(text).not.toMatch(/[\u001b\u0007\u200e]|^faked/m);
  expect(text).toContain("\\u001b[2J");
}

test("no command prints a control character of a job, a worker or a tenant", async () => {
  const world = await setup();
  const queue = await world.queue();
  const { id } = await queue.enqueue(`mail${evil}`, { evil }, { partitionKey: `k${evil}`, maxAttempts: 1 });
  await queue.enqueue(`mail${evil}`, {}, { partitionKey: `k${evil}` });
  const [job] = await queue.claim({ workerId: `w${evil}` });
  if (job === undefined) throw new Error("nothing was claimed");
  await (await world.connect({ workerId: `w${evil}` }))
    .worker("inbox", { other: () => {} }, { handlesSignals: false })
    .start();
  const run = (...argv: string[]): ReturnType<typeof leasehold> =>
    leasehold(argv, { environment: { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema } });
  const why = await run("jobs", "why", "inbox", id);
  expectPlain(why.stdout);
  await queue.fail(job, new Error(evil));
  expectPlain((await run("jobs", "get", "inbox", id)).stdout);
  await world.sql("insert into leasehold.tenant_leases (tenant, state) values ($1, 'running')", [`t${evil}`]);
  expectPlain((await run("tenants", "--limit", "1")).stdout);
  expectPlain((await run("doctor")).stdout + why.stdout);
  const asked = await leasehold(["workers", "evict", `w${evil}`], {
    environment: { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema },
    answers: ["n"],
  });
  expectPlain(asked.questions.join("\n"));
  expectPlain((await run("workers", "drain", `w${evil}`, "--yes")).stdout);
  expectPlain((await run("workers", "evict", `w${evil}`, "--yes")).stdout);
  expectPlain((await run("history")).stdout);
});

test("no error prints a control character of the command line", async () => {
  for (const argv of [
    [`x${evil}`],
    ["status", `--x${evil}`],
    ["jobs", `x${evil}`, "1", "2"],
    ["worker", `x${evil}`],
  ])
    expectPlain((await leasehold(argv, { environment: { DATABASE_URL: "postgres://h/d" } })).stderr);
  const { message } = failureOf(new Error(evil), () => null);
  expectPlain(message);
});

test("history shows the role beside the name that a client gives itself", async () => {
  const world = await setup();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema, USER: "the boss" };
  await leasehold(["queues", "create", "inbox"], { environment });
  const [server] = await world.sql<{ role: string }>("select current_user as role");
  expect((await leasehold(["history"], { environment })).stdout).toContain(` ${server?.role} (the boss)`);
});

test("an error has colours on a terminal, unless none are wanted", async () => {
  const error = async (more: readonly string[], environment = {}): Promise<string> =>
    (await leasehold(["nosuch", ...more], { columns: 80, environment })).stderr;
  expect(await error([])).toContain("\u001b[31m");
  for (const plain of [error(["--no-color"]), error([], { TERM: "dumb" }), error([], { NO_COLOR: "1" })])
    expect(await plain).toMatch(/^error CLI_USAGE: /);
});

test("no line of a worker and none of the log has a control character", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "worker.mjs");
  await writeFile(file, "export default (lh) => ({ state: 'new', start() {}, stop() {} });");
  const notes: string[] = [];
  const context = {
    isJson: false,
    note: (line: string) => notes.push(line),
    connect: ({ logger }: { logger: { error(fields: object, message: string): void } }) => {
      logger.error({}, `failed: ${evil}`);
      return Promise.resolve({});
    },
  };
  await loadWorkers(context as never, file, {});
  expectPlain(notes.join("\n"));
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  chosenLogger("pretty")?.error({}, `failed: ${evil}`);
  expectPlain(printed.mock.calls.flat().join("\n"));
});
