import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { SimulationReport } from "../../cli/simulation.js";
import { safeguardsInCode } from "../../safeguards/in-code.js";
import { mutated } from "../../safeguards/mutated.js";
import { cleanEnvironment, installedApp, linkBinaries, pack, testFolder } from "./packed-app.js";
import { type Ran, Running } from "./running.js";

const folder = testFolder();
const environment = cleanEnvironment(folder);
const [leasehold, development] = [pack(folder, "."), pack(folder, "dev")];
const alone = installedApp(folder, "alone", [leasehold]);
const both = installedApp(folder, "both", [leasehold, development]);
linkBinaries(both);

const start = (line: string, app: string): Running => new Running(line.split(" "), app, environment);
const run = (line: string, app: string): Promise<Ran> => start(line, app).ended;

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | object>>;
}

function manifestOf(app: string, name: string): Manifest {
  return JSON.parse(readFileSync(join(app, "node_modules", name, "package.json"), "utf8")) as Manifest;
}

test("leasehold alone prints help, its entries load, and its types compile", async () => {
  expect(await run("npx leasehold --help", alone)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/Usage: leasehold <command>[\s\S]*simulate/),
    stderr: "",
  });
  const entries = Object.keys(manifestOf(alone, "leasehold").exports).filter(
    (entry) => !entry.includes(".json"),
  );
  expect(entries).toContain("./embedded");
  const imports = entries.map((entry) => `await import("leasehold${entry.slice(1)}");`);
  expect(await run("node entries.mjs", written(alone, "entries.mjs", imports.join("\n")))).toMatchObject({
    exitCode: 0,
    stderr: "",
  });
  written(alone, "typed.ts", typedProgram);
  written(alone, "tsconfig.json", JSON.stringify(typedConfig));
  symlinkSync(resolve("node_modules/@types"), join(alone, "node_modules/@types"));
  expect(await run(`${resolve("node_modules/.bin/tsc")} -p tsconfig.json`, alone)).toMatchObject({
    exitCode: 0,
    stdout: "",
  });
});

test("without leasehold-dev, simulate and dev say how to get it", async () => {
  const simulated = await run("npx leasehold simulate --count 2", alone);
  expect(simulated).toEqual({
    exitCode: 3,
    stdout: "",
    stderr:
      "error CLI_NO_DEV_PACKAGE: The simulation is in the package leasehold-dev, which is not installed.\nadvice: Install it: npm install --save-dev leasehold-dev\n",
  });
  const inJson = await run("npx leasehold simulate --json", alone);
  expect(JSON.parse(inJson.stderr)).toMatchObject({ error: { code: "CLI_NO_DEV_PACKAGE", exitCode: 3 } });
  expect(await run("npx leasehold dev", alone)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("npm install --save-dev leasehold-dev"),
  });
});

test("with leasehold-dev, simulate runs seeds and reports on them in JSON", async () => {
  const { exitCode, stdout, stderr } = await run("npx leasehold simulate --count 2 --json", both);
  expect(exitCode, stderr).toBe(0);
  const report = JSON.parse(stdout) as SimulationReport;
  expect(report).toMatchObject({ isInterrupted: false, seeds: 2, failed: 0, unequal: 0 });
  expect(report.results).toEqual(
    [1, 2].map((seed) => ({
      seed,
      again: `leasehold simulate --seed ${seed}`,
      hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      violations: [],
      error: null,
    })),
  );
  expect(report.statements).toBeGreaterThan(600);
  expect(stderr).toMatch(/^Starting an embedded PostgreSQL\.\n/);
});

test("a broken promise ends with 1, and the printed command repeats it", { timeout: 600_000 }, async () => {
  const app = copyOfBoth("broken");
  const safeguard = safeguardsInCode.find(({ name }) => name === "leases are renewed");
  if (safeguard === undefined) throw new Error("There is no such safeguard.");
  const path = join(app, "node_modules/leasehold-dev/dist", safeguard.file.replace(/\.ts$/, ".js"));
  writeFileSync(path, mutated(readFileSync(path, "utf8"), safeguard));
  const first = await run("npx leasehold simulate --count 2", app);
  expect(first.exitCode, first.stderr).toBe(1);
  const [, headline, seed, again = ""] =
    /^(seed (\d+) \(.*\): \d+ violations?)\n[\s\S]*?\nRun it again: (.*)$/m.exec(first.stdout) ?? [];
  expect(again).toBe(`leasehold simulate --seed ${seed}`);
  const second = await run(`npx ${again}`, app);
  expect(second.exitCode, second.stderr).toBe(1);
  expect(second.stdout).toContain(headline);
});

test("leasehold and leasehold-dev must have the same version", async () => {
  const app = copyOfBoth("versions");
  const { version } = manifestOf(app, "leasehold");
  const path = join(app, "node_modules/leasehold-dev/package.json");
  writeFileSync(path, JSON.stringify({ ...manifestOf(app, "leasehold-dev"), version: "0.0.9" }));
  expect(await run("npx leasehold simulate", app)).toEqual({
    exitCode: 4,
    stdout: "",
    stderr: `error CLI_DEV_PACKAGE_VERSION: leasehold has version ${version} and leasehold-dev has version 0.0.9; they must be the same.\nadvice: Install the same version: npm install --save-dev leasehold-dev@${version}\n`,
  });
});

test("Ctrl-C ends simulate with 130, reports the finished seeds, and leaves no process", async () => {
  const running = start("node_modules/.bin/leasehold simulate --count 1000", both);
  await running.printed(/^\d+ s: /m);
  expect(processesOf(both)).not.toEqual([]);
  running.signal("SIGINT");
  const { exitCode, stdout, stderr } = await running.ended;
  expect(exitCode, stderr).toBe(130);
  expect(stdout).toMatch(/^Interrupted: \d+ seeds? in /m);
  expect(processesOf(both)).toEqual([]);
});

/** The processes that run a file of the application. */
function processesOf(app: string): readonly string[] {
  const lines = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.includes(app));
}

function copyOfBoth(name: string): string {
  const app = join(folder, name);
  cpSync(both, app, { recursive: true, verbatimSymlinks: true });
  return app;
}

function written(app: string, file: string, text: string): string {
  writeFileSync(join(app, file), text);
  return app;
}

const typedProgram = `import { connect, type Leasehold } from "leasehold";
import { startPostgres } from "leasehold/embedded";

const lh: Leasehold = await connect({ url: (await startPostgres()).url });
const queue = await lh.queue<{ hello: { name: string } }>("inbox", { order: "key" });
await queue.enqueue("hello", { name: "world" });
// @ts-expect-error The payload has no such field.
await queue.enqueue("hello", { nmae: "world" });
`;

const typedConfig = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ["node"],
    lib: ["es2023", "esnext.disposable"],
  },
  files: ["typed.ts"],
};
