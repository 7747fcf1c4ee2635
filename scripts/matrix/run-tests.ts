import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  readonly isGreen: boolean;
}

/** Runs vitest against one server and passes its output on, each line with the label in front. */
export async function runTests(
  databaseUrl: string,
  { label, parameters }: { readonly label: string; readonly parameters: readonly string[] },
): Promise<TestCounts> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-matrix-"));
  const resultFile = join(folder, "result.json");
  const startedAtMs = performance.now();
  try {
    const reporters = [
      "--reporter=default",
      "--reporter=./test/support/skips-reporter.ts",
      "--reporter=json",
      `--outputFile.json=${resultFile}`,
    ];
    const child = spawn(
      process.execPath,
      [
        resolve("node_modules/vitest/vitest.mjs"),
        "run",
        ...reporters,
        ...projectsOf(parameters),
        ...parameters,
      ],
      {
        env: { ...process.env, DATABASE_URL: databaseUrl },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    pass(child.stdout, label);
    pass(child.stderr, label);
    const [status] = await once(child, "close");
    const seconds = (performance.now() - startedAtMs) / 1_000;
    return { ...readCounts(resultFile), seconds, isGreen: status === 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What `npm test` runs, unless the parameters say otherwise. */
function projectsOf(parameters: readonly string[]): readonly string[] {
  const isChosen = parameters.some((parameter) => parameter.startsWith("--project"));
  return isChosen ? [] : ["--project=queue", "--project=worker"];
}

function pass(stream: Readable, label: string): void {
  createInterface({ input: stream }).on("line", (line) => console.log(`${label} | ${line}`));
}

/** A run that broke off has written no file; its status tells that it failed. */
function readCounts(resultFile: string): { passed: number; failed: number; skipped: number } {
  try {
    const result = JSON.parse(readFileSync(resultFile, "utf8")) as Record<string, unknown>;
    const count = (name: string): number => Number(result[name] ?? 0);
    return {
      passed: count("numPassedTests"),
      failed: count("numFailedTests"),
      skipped: count("numPendingTests") + count("numTodoTests"),
    };
  } catch {
    return { passed: 0, failed: 0, skipped: 0 };
  }
}
