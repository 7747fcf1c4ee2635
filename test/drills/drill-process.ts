import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";

export const main = "build/cli/main.js";

/** A drill as a process, as a person runs it. */
export interface DrillProcess {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<number | string>;
}

export function startDrill(args: readonly string[]): DrillProcess {
  // Settings of the person's own system, which a drill must not use. Nothing listens on port 1.
  const elsewhere = "postgres://nobody@127.0.0.1:1/nowhere";
  const own = { DATABASE_URL: "", LEASEHOLD_SCHEMA: "elsewhere", LEASEHOLD_REPLICA_URL: elsewhere };
  const env = { ...process.env, ...own };
  const child = spawn(process.execPath, [main, "drill", ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (part: string) => {
      printed[name] += part;
    });
  const ended = once(child, "close").then(
    ([status, signal]: (number | string | null)[]) => status ?? signal ?? "",
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, stdout: () => printed.stdout, stderr: () => printed.stderr, ended };
}

/** What a drill has started: its server and the shell that guards it carry the drill's pid in the name of their folder, its workers in an argument. */
async function leftBehind(pid: number | undefined): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,args"]);
  const isOfDrill = new RegExp(`leasehold-postgres-[0-9a-f]+-${pid}-|\\bdrill-${pid}\\b`);
  return stdout.split("\n").filter((line) => isOfDrill.test(line));
}

/** The guard ends a moment after it is dismissed. */
export async function expectNothingLeft({ child }: DrillProcess): Promise<void> {
  await expect.poll(() => leftBehind(child.pid), { timeout: 60_000 }).toEqual([]);
}

/** How many processes of the drill there are now. */
export async function processesOf({ child }: DrillProcess): Promise<number> {
  return (await leftBehind(child.pid)).length;
}
