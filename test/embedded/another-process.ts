import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";

/** What a process reports about the server that it has started. */
export interface Report {
  readonly url: string;
  readonly pid: number;
  readonly dataDirectory: string;
}

/** A process apart from the tests, which can therefore crash. */
export interface AnotherProcess {
  readonly child: ChildProcess;
  readonly report: Report;
  /** The exit status, or the signal that ended it. */
  readonly end: Promise<number | string>;
}

const COMPILED = resolve("build/launcher-test");

/** Another process needs JavaScript. The launcher alone is compiled, to a place of its own, in under a second. */
export function compileLauncher(): void {
  const options =
    "--ignoreConfig --rootDir src --module nodenext --target es2023 --types node --skipLibCheck";
  const compiler = resolve("node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "src/embedded.ts", "--outDir", COMPILED, ...options.split(" ")]);
}

/** Starts a server in another process, which then runs `afterwards` (with `server` in scope) and reports. */
export async function startElsewhere(
  afterwards: string,
  { options = "{}", command = [process.execPath] }: { options?: string; command?: readonly string[] } = {},
): Promise<AnotherProcess> {
  const program = `
    import { startPostgres } from ${JSON.stringify(join(COMPILED, "embedded.js"))};
    const server = await startPostgres(${options});
    const { url, pid, dataDirectory } = server;
    ${afterwards}
    console.log(JSON.stringify({ url, pid, dataDirectory }));
  `;
  const [file = process.execPath, ...parameters] = [...command, "--input-type=module", "--eval", program];
  const child = spawn(file, parameters, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  const end = once(child, "close").then(([status, signal]: (number | string)[]) => status ?? signal ?? "");
  const errors: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), "line").then(([first]: string[]) => first ?? ""),
    end.then((status) => Promise.reject(new Error(`ended with ${status}: ${errors.join("")}`))),
  ]);
  return { child, report: JSON.parse(line) as Report, end };
}

export async function expectGone(report: Report): Promise<void> {
  await expect.poll(() => isAlive(report.pid), PATIENCE).toBe(false);
  await expect.poll(() => existsSync(report.dataDirectory), PATIENCE).toBe(false);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const PATIENCE = { timeout: 60_000, interval: 20 };
