import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, type TestContext, test } from "vitest";

const small = ["--tenants", "40", "--workers", "3", "--tick-ms", "700"] as const;

interface Figures {
  readonly tenants: number;
  readonly steps: readonly {
    readonly step: string;
    readonly moved: number;
    readonly workers: number;
    readonly spread: { readonly tenants: number; readonly isEven: boolean };
  }[];
  readonly breaches: readonly string[];
}

test("the example of tenants ends with every tenant on one worker, whatever became of the others", async (context) => {
  const { status, stdout, stderr } = await runExample(context, ...small, "--json");
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  const { tenants, steps, breaches } = JSON.parse(stdout) as Figures;
  expect(tenants).toBe(40);
  expect(breaches).toEqual([]);
  expect(steps.map(({ step }) => step)).toEqual(["start", "add", "stop", "kill", "evict", "return"]);
  expect(steps.map(({ workers }) => workers)).toEqual([3, 4, 3, 2, 2, 2]);
  for (const { spread } of steps) expect(spread).toMatchObject({ tenants: 40, isEven: true });
  for (const { moved } of steps) expect(moved).toBeGreaterThan(0);
});

test("the example of tenants says how it is used, and refuses what makes no sense", async (context) => {
  const asked = await runExample(context, "--help");
  expect(asked.status).toBe(0);
  expect(asked.stdout).toContain("--tenants N");
  const refused = await runExample(context, "--workers", "1");
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain("--workers is 1; give a whole number from 3 to 40.");
});

test("the example of tenants ends its processes and its server when it is stopped", async (context) => {
  const child = start(context, ...small);
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    printed += part;
  });
  const ended = once(child, "close");
  while (!printed.includes(" run: ") && child.exitCode === null)
    await Promise.race([once(child.stdout, "data"), ended]);
  child.kill("SIGINT");
  expect((await ended)[0]).toBe(1);
  const { pid } = child;
  expect(() => process.kill(-(pid ?? 0), 0)).toThrow("ESRCH");
});

async function runExample(
  context: TestContext,
  ...args: readonly string[]
): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }> {
  const child = start(context, ...args);
  const closed = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = (await closed) as [number];
  return { status, stdout, stderr };
}

type Example = ChildProcessByStdio<null, Readable, Readable>;

/** In a process group of its own, so that it can be seen whether anybody is left. */
function start({ onTestFinished }: TestContext, ...args: readonly string[]): Example {
  const child = spawn(process.execPath, ["build/examples/tenants/run.js", ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await ended;
  });
  return child;
}
