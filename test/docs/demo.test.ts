import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, type TestContext, test } from "vitest";

const printedMsMax = 100_000;

/** What `npm start` runs, without a terminal, on an embedded server and data of its own. */
interface DemoRun {
  readonly lines: readonly string[];
  /** Resolves with the first match in what has been printed or will be. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  signal(signal: NodeJS.Signals): void;
  /** The exit status, or the signal that ended it. */
  readonly end: Promise<number | string>;
  readonly dataFolder: string;
}

test.concurrent("the demo runs for the time given, keeps its promises and leaves nothing behind", async (context) => {
  const demo = await startDemo(context, { LEASEHOLD_DEMO_SECONDS: "8" });
  expect(await demo.end, demo.lines.join("\n")).toBe(0);
  const figures = demo.lines.filter((line) => /^ +\d+ s .* jobs\/s /.test(line));
  expect(figures.length).toBeGreaterThanOrEqual(2); // One each second, if the machine has time for it.
  for (const line of figures) expect(line).toMatch(/order breaks 0 {2}doubled 0 {2}lost 0$/);
  const summary = demo.lines.slice(-4).join("\n");
  expect(summary).toContain("Order breaks: 0. Doubled receipts: 0. Lost jobs: 0.");
  const [, done = ""] = /([\d,]+) jobs done/.exec(summary) ?? [];
  expect(Number(done.replaceAll(",", ""))).toBeGreaterThan(0);
  expectNobodyLeft(demo, 3);
});

test.concurrent("the keys of a killed worker run again, and SIGTERM drains the demo", async (context) => {
  const demo = await startDemo(context, { LEASEHOLD_DEMO_SECONDS: "60" });
  // Whoever has no buckets yet, as far as the demo has seen, has no keys that could run again.
  await demo.printed(/workers 3 .* buckets \d+\/\d+\/\d+ .* done [1-9]/);
  const [, pid = ""] = await demo.printed(/worker-2 joined: pid (\d+)/);
  process.kill(Number(pid), "SIGKILL");
  await demo.printed(/worker-2's keys run again after [\d,]+ ms/);
  demo.signal("SIGTERM");
  expect(await demo.end, demo.lines.join("\n")).toBe(0);
  expect(demo.lines.join("\n")).toContain("Order breaks: 0. Doubled receipts: 0. Lost jobs: 0.");
  expectNobodyLeft(demo, 3);
});

async function startDemo(
  { onTestFinished }: TestContext,
  environment: Readonly<Record<string, string>>,
): Promise<DemoRun> {
  const dataFolder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  const env = { ...process.env, ...environment, DATABASE_URL: "", LEASEHOLD_DEMO_DATA: dataFolder };
  const child = spawn(process.execPath, ["build/examples/start.js"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await rm(dataFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on("line", (line) => lines.push(line));
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const end = once(child, "close").then(([status, signal]: (number | string)[]) => status ?? signal ?? "");
  return {
    lines,
    dataFolder,
    end,
    signal: (signal) => void child.kill(signal),
    printed: async (pattern) => {
      const tooLate = sleep(printedMsMax, true, { ref: false });
      for (let read = 0; ; read++) {
        while (read >= lines.length) {
          const next = once(output, "line").then(() => false);
          const isOver = await Promise.race([next, end.then(() => true), tooLate]);
          if (isOver && read >= lines.length)
            throw new Error(`${pattern} was not printed:\n${lines.join("\n")}`);
        }
        const match = pattern.exec(lines[read] ?? "");
        if (match !== null) return match;
      }
    },
  };
}

function expectNobodyLeft({ lines, dataFolder }: DemoRun, workers: number): void {
  const pids = lines.flatMap((line) => /joined: pid (\d+)/.exec(line)?.[1] ?? []);
  expect(pids.length).toBe(workers);
  for (const pid of pids) expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  expect(existsSync(join(dataFolder, "data", "postmaster.pid"))).toBe(false);
}
