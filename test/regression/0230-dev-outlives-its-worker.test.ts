import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Running } from "../packages/running.js";

/** Without a worker file dev ended at once, with 13. Another terminal had to copy a line with the address, which is another one after each start, and a worker that ended did not say that dev waits for a change. */

const main = resolve("build/cli/main.js");
const environment = { ...process.env, DATABASE_URL: "", LEASEHOLD_SCHEMA: "" };
const worker = (act: string) =>
  `export const queue = "inbox";\nexport const handlers = { hello: (job) => { ${act} } };\n`;

/** The job goes on for ever, so the next worker takes it over. */
const crash = "return new Promise(() => setImmediate(() => { throw new Error('crashed'); }));";

async function project(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-dev-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}

async function leasehold(folder: string, args: readonly string[], more = {}): Promise<string> {
  const options = { cwd: folder, env: { ...environment, ...more } };
  return (await promisify(execFile)(process.execPath, [main, ...args], options)).stdout;
}

test("dev goes on when its worker has ended, and other terminals reach its server", async () => {
  const folder = await project();
  await writeFile(join(folder, "worker.mjs"), worker(crash));
  const words = [process.execPath, main, "dev", "worker.mjs", "--queue", "inbox", "--data", "postgres"];
  const dev = new Running(words, folder, environment);
  await dev.printed(/works on inbox/);
  const url = (await leasehold(folder, ["dev", "--print-url", "--data", "postgres"])).trim();
  expect(dev.output).toContain(`export DATABASE_URL=${url}\n`);
  await leasehold(folder, ["enqueue", "inbox", "hello", "{}"], { DATABASE_URL: url });
  await dev.printed(/The worker has ended; the database goes on\. Change the file[\s\S]*crashed/);
  const second = new Running([process.execPath, main, "dev", "--data", "postgres"], folder, environment);
  await second.printed(/another leasehold dev has started it, and it stops with that one/);
  await second.printed(/Ctrl-C stops/);
  second.signal("SIGINT");
  expect((await second.ended).exitCode).toBe(0);
  expect(await leasehold(folder, ["status"], { DATABASE_URL: url })).toContain("inbox");
  await writeFile(join(folder, "worker.mjs"), worker("console.log('mended')"));
  await dev.printed(/mended/);
  dev.signal("SIGINT");
  const { exitCode, stdout, stderr } = await dev.ended;
  expect(exitCode, stderr).toBe(0);
  expect(stdout).toMatch(/Stopped\.\n$/);
  expect(stderr.match(/The worker has ended/g)).toHaveLength(1);
});

test("where no server runs, the address is not found, and nothing is started", async () => {
  const asked = leasehold(await project(), ["dev", "--print-url", "--data", "postgres"]);
  await expect(asked).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining("CLI_NOT_FOUND") });
});
