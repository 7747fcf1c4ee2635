/**
 * Runs the tests over and over, optionally beside processes that keep the processor busy, and appends a line of JSON for each run to a log:
 * `npm run test:repeat -- --times 10 --busy 4 --log repeat.log`. A log may go on over several days. Other arguments go to vitest.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { logLine, type VitestReport } from "./repeat/log-line.js";

const timesMax = 1_000;
const busyMax = 64;
const usage = "npm run test:repeat -- [--times 10] [--busy 4] [--log repeat.log] [arguments for vitest]";

interface Plan {
  readonly times: number;
  readonly busy: number;
  readonly log: string | null;
  readonly parameters: readonly string[];
}

async function main(given: readonly string[]): Promise<number> {
  const plan = planOf(given);
  if (plan === null) {
    console.error(`Usage: ${usage}`);
    return 2;
  }
  let green = 0;
  for (let run = 1; run <= plan.times; run++) {
    console.log(`\nrun ${run} of ${plan.times}, ${plan.busy} busy processes beside it`);
    const { line, isGreen } = await runOnce(plan);
    if (plan.log !== null) appendFileSync(plan.log, `${line}\n`);
    console.log(line);
    if (isGreen) green++;
  }
  console.log(`\n${green} of ${plan.times} runs were green.`);
  return green === plan.times ? 0 : 1;
}

function planOf(given: readonly string[]): Plan | null {
  const options = {
    times: { type: "string", default: "10" },
    busy: { type: "string", default: "0" },
    log: { type: "string" },
  } as const;
  const { values, tokens } = parseArgs({ args: [...given], options, strict: false, tokens: true });
  const [times, busy] = [Number(values.times), Number(values.busy)];
  if (!Number.isInteger(times) || times < 1 || times > timesMax) return null;
  if (!Number.isInteger(busy) || busy < 0 || busy > busyMax) return null;
  const parameters = tokens.flatMap((token) => {
    if (token.kind === "positional") return [token.value];
    if (token.kind !== "option" || token.name in options) return [];
    return [token.value === undefined ? token.rawName : `${token.rawName}=${token.value}`];
  });
  return { times, busy, log: typeof values.log === "string" ? values.log : null, parameters };
}

/** Busy processes live no longer than their run, however that ends. */
async function runOnce({
  busy,
  parameters,
}: Plan): Promise<{ readonly line: string; readonly isGreen: boolean }> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-repeat-"));
  const reportFile = join(folder, "report.json");
  const date = new Date();
  const burners = Array.from({ length: busy }, burn);
  try {
    const exitCode = await runVitest(reportFile, parameters);
    const seconds = Math.round((Date.now() - date.getTime()) / 1_000);
    const facts = { date: date.toISOString(), commit: commitOf(), busy, seconds, exitCode };
    return { line: logLine(facts, readReport(reportFile)), isGreen: exitCode === 0 };
  } finally {
    for (const burner of burners) burner.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends by itself when this process is gone, which closes the pipe. */
function burn(): ChildProcess {
  const script =
    "process.stdin.on('end', () => process.exit()).resume(); setInterval(() => { const t = Date.now(); while (Date.now() - t < 500); }, 0)";
  return spawn(process.execPath, ["-e", script], { stdio: ["pipe", "ignore", "ignore"] });
}

async function runVitest(reportFile: string, parameters: readonly string[]): Promise<number> {
  // What `npm test` runs, unless the arguments say otherwise.
  const isChosen = parameters.some((parameter) => parameter.startsWith("--project"));
  const projects = isChosen ? [] : ["--project=queue", "--project=worker"];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const vitest = resolve("node_modules/vitest/vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", ...projects, ...reporters, ...parameters], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

function readReport(file: string): VitestReport | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as VitestReport;
  } catch {
    return null;
  }
}

/** With a plus when something is not committed. */
function commitOf(): string {
  const git = (...words: string[]): string => execFileSync("git", words, { encoding: "utf8" }).trim();
  try {
    return git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") === "" ? "" : "+");
  } catch {
    return "none";
  }
}

process.exitCode = await main(process.argv.slice(2));
