import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { report } from "../support/figures.js";
import { cleanEnvironment, installedApp, linkBinaries, pack, testFolder } from "./packed-app.js";
import { Running } from "./running.js";

const folder = testFolder();
/** The server's programs are copied into it when they can't run where they are: a new machine has no copy. */
const temporary = join(folder, "tmp");
mkdirSync(temporary, { mode: 0o755 });
const environment = { ...cleanEnvironment(folder), TMPDIR: temporary };
const app = installedApp(folder, "app", [pack(folder, "."), pack(folder, "dev")]);
linkBinaries(app);

const worker = `export const queue = "inbox";
export const handlers = { hello: (job) => console.log("hello", job.payload.name) };
`;

test("the commands that dev prints lead a new user to a handled job", async () => {
  // As npm init leaves it: .js files are CommonJS.
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "commonjs" }));
  writeFileSync(join(app, "worker.mjs"), worker);
  const [firstMs, secondMs] = [await firstJobMs(), await firstJobMs()];
  report("npx leasehold dev until a job is handled", { firstMs, secondMs }, { firstMs: 10_000 });
});

/** From the start of dev until the job that was enqueued as dev says has been handled. */
async function firstJobMs(): Promise<number> {
  const startedAtMs = performance.now();
  const dev = new Running(["npx", "leasehold", "dev", "worker.mjs", "--queue", "inbox"], app, environment);
  await dev.printed(/In another terminal: .*\n/);
  const [, url = ""] = /export DATABASE_URL=(\S+)/.exec(dev.output) ?? [];
  const [, line = ""] = /In another terminal: (.*)/.exec(dev.output) ?? [];
  execFileSync("sh", ["-c", line], { cwd: app, env: { ...environment, DATABASE_URL: url } });
  await dev.printed(/hello world/);
  const tookMs = Math.round(performance.now() - startedAtMs);
  dev.signal("SIGINT");
  expect((await dev.ended).stdout).toMatch(/Stopped\.\n$/);
  return tookMs;
}
