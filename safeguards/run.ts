import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { safeguardsAtTheEdges } from "./at-the-edges.js";
import { safeguardsInAdapters } from "./in-adapters.js";
import { safeguardsInCode } from "./in-code.js";
import { safeguardsInOperate } from "./in-operate.js";
import { safeguardsInSql } from "./in-sql.js";
import { safeguardsInTenants } from "./in-tenants.js";
import { mutated } from "./mutated.js";
import type { Safeguard } from "./safeguard.js";

/** The command `npm run safeguards`: takes out one safeguard after another, in a copy of the tree, and shows what notices. */

const help = `npm run safeguards -- [options]

Takes out one safeguard at a time, in a copy of this tree, and runs the tests or seeds that must notice. Each must be caught. Takes about half an hour.

  --only TEXT     those whose name has this in it
  --seeds N       so many seeds of the simulation instead of what must notice: shows what the simulation sees, and fails for none
  --list          their names, and what must notice
  --json          one line of JSON for each
  --help          this text

Example: npm run safeguards -- --only token`;

const all: readonly Safeguard[] = [
  ...safeguardsInSql,
  ...safeguardsInCode,
  ...safeguardsInAdapters,
  ...safeguardsAtTheEdges,
  ...safeguardsInTenants,
  ...safeguardsInOperate,
];
const say = (text: string): void => void process.stdout.write(`${text}\n`);
/** What runs for longer is ended. Everything in place is all those tests at once. */
const limitMs = { one: 600_000, all: 2_400_000 };

interface Verdict {
  readonly name: string;
  /** The first thing that failed; null when nothing did. */
  readonly caughtBy: string | null;
  readonly seconds: number;
}

interface Options {
  readonly chosen: readonly Safeguard[];
  readonly isExploring: boolean;
  readonly isList: boolean;
  readonly isJson: boolean;
}

/** Null asks for help. Throws with a sentence when an option makes no sense. */
function optionsOf(args: readonly string[]): Options | null {
  const flag = { type: "boolean" } as const;
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { only: text, seeds: text, list: flag, json: flag, help: flag },
  });
  if (values.help === true) return null;
  const { only = "", seeds: seedText } = values;
  const count = Number(seedText);
  if (seedText !== undefined && (!Number.isInteger(count) || count < 1))
    throw new RangeError(`--seeds takes a whole number from 1, not ${seedText}.`);
  const named = all.filter(({ name }) => name.includes(only));
  if (named.length === 0)
    throw new RangeError(`No safeguard has "${only}" in its name; --list tells their names.`);
  const isExploring = seedText !== undefined;
  const chosen = isExploring ? named.map((one) => ({ ...one, caughtBy: { seeds: count } })) : named;
  return { chosen, isExploring, isList: values.list === true, isJson: values.json === true };
}

async function main(): Promise<number> {
  let options: Options | null;
  try {
    options = optionsOf(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}\n`);
    return 2;
  }
  if (options === null) {
    say(help);
    return 0;
  }
  const { chosen, isExploring, isList, isJson } = options;
  if (isList) {
    for (const { name, caughtBy } of chosen)
      say(`${name}: ${"tests" in caughtBy ? caughtBy.tests.join(", ") : `${caughtBy.seeds} seeds`}`);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "leasehold-safeguards-"));
  try {
    await copyTree(folder);
    await checkSound(folder, chosen);
    const verdicts: Verdict[] = [];
    for (const [n, safeguard] of chosen.entries()) {
      const verdict = await withoutIt(folder, safeguard);
      verdicts.push(verdict);
      say(isJson ? JSON.stringify(verdict) : line(verdict, `${n + 1} of ${chosen.length}`));
    }
    const missed = verdicts.filter((verdict) => verdict.caughtBy === null).length;
    say(`${verdicts.length - missed} of ${verdicts.length} safeguards are caught when they are taken out`);
    return missed === 0 || isExploring ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function line({ name, caughtBy, seconds }: Verdict, place: string): string {
  return `${place}  ${caughtBy === null ? "NOT CAUGHT" : "caught"}  ${name}  (${seconds} s)${caughtBy === null ? "" : `: ${caughtBy}`}`;
}

async function copyTree(folder: string): Promise<void> {
  const { output } = await run("git", ["ls-files", "-co", "--exclude-standard"], process.cwd());
  for (const file of output.split("\n").filter((name) => name !== "")) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file));
  }
  rmSync(join(folder, "test/database/schema-dump.test.ts")); // It compares the text of the schema, and would notice anything.
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
}

/** With all safeguards in place everything that is to notice must be content, or its complaint would mean nothing. */
async function checkSound(folder: string, chosen: readonly Safeguard[]): Promise<void> {
  await build(folder);
  const files = new Set(chosen.flatMap(({ caughtBy }) => ("tests" in caughtBy ? caughtBy.tests : [])));
  say(`Running ${files.size} files and folders of tests with everything in place ...`);
  const complaint = files.size === 0 ? null : await tests(folder, [...files], limitMs.all);
  if (complaint !== null) throw new Error(`With all safeguards in place this fails: ${complaint}`);
}

async function withoutIt(folder: string, safeguard: Safeguard): Promise<Verdict> {
  const path = join(folder, safeguard.file);
  const original = readFileSync(path, "utf8");
  const startedAtMs = performance.now();
  writeFileSync(path, mutated(original, safeguard));
  try {
    await build(folder);
    const caughtBy =
      "tests" in safeguard.caughtBy
        ? await tests(folder, safeguard.caughtBy.tests)
        : await seeds(folder, safeguard.caughtBy.seeds);
    return { name: safeguard.name, caughtBy, seconds: Math.round((performance.now() - startedAtMs) / 1_000) };
  } finally {
    writeFileSync(path, original);
  }
}

/** Type errors do not matter here: what was taken out may have been the only use of something. */
async function build(folder: string): Promise<void> {
  await run("npx", ["tsc", "-p", "tsconfig.json"], folder);
  await run("node", ["build/scripts/generate.js"], folder);
  await run("npx", ["tsc", "-p", "tsconfig.json"], folder);
}

async function tests(
  folder: string,
  files: readonly string[],
  endAfterMs = limitMs.one,
): Promise<string | null> {
  const args = ["vitest", "run", "--bail", "1", "--no-color", ...files];
  const { code, output } = await run("npx", args, folder, endAfterMs);
  if (code === 0) return null;
  const failed = / FAIL +(.*)/.exec(output)?.[1]?.trim();
  if (failed === undefined) throw new Error(`The tests could not be run: ${output.slice(-2_000)}`);
  return failed;
}

async function seeds(folder: string, count: number): Promise<string | null> {
  const { code, output } = await run("node", ["build/simulation/first-seeds.js", String(count)], folder);
  if (code === 0) return null;
  const failed = /^seed \d+ .*\n.*/m.exec(output)?.[0].replace("\n", "");
  if (failed === undefined) throw new Error(`The seeds could not be run: ${output.slice(-2_000)}`);
  return failed;
}

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  endAfterMs = limitMs.one,
): Promise<{ code: number | null; output: string }> {
  return await new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), endAfterMs);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({
        code,
        output: code === null ? `${output}\nended after ${endAfterMs / 60_000} minutes` : output,
      });
    });
  });
}

process.exitCode = await main();
