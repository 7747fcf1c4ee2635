import { execFile, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { onTestFinished, type TestContext } from "vitest";
import { pickFreePort } from "../../src/adapters/embedded-postgres/free-port.js";
import { until } from "../worker/worker-world.js";

/** Not among the expected reasons of skips-reporter.ts, so that CI fails when it is missing. */
const MISSING = "needs prometheus and promtool in PATH (Debian: apt-get install prometheus)";

/** The path of a program of the package; skips the test where it is not installed. */
export function programOr(context: TestContext, name: "prometheus" | "promtool"): string {
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  return found ?? context.skip(MISSING);
}

/** A folder that is gone after the test. */
export async function folderOfTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-prometheus-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What promtool says; rejects when it finds fault. */
export async function promtool(program: string, parameters: readonly string[], input = ""): Promise<string> {
  return await new Promise((resolve, reject) => {
    const child = execFile(program, [...parameters], (error, stdout, stderr) => {
      if (error === null) resolve(stdout + stderr);
      else reject(new Error(`${stdout}${stderr}`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}

export interface Point {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Prometheus {
  /** Evaluates an expression now; rejects when Prometheus does not take it. */
  query(expression: string): Promise<readonly Point[]>;
  rules(): Promise<readonly { readonly name: string; readonly health: string }[]>;
}

/** A Prometheus of its own that scrapes `target` each second and has `rules`; ends with the test. */
export async function startPrometheus(
  program: string,
  { target, rules }: { readonly target: string; readonly rules: string },
): Promise<Prometheus> {
  const folder = await folderOfTest();
  const address = `127.0.0.1:${await pickFreePort()}`;
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: [{ job_name: "shop", static_configs: [{ targets: [target] }] }],
  };
  // JSON is YAML.
  await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
      "--log.level=warn",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => {
    words += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const ask = async <T>(path: string): Promise<T> => {
    const answer = (await (await fetch(`http://${address}${path}`)).json()) as { status: string; data: T };
    if (answer.status !== "success") throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  await until("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus has ended: ${words}`);
    return await fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  interface Found {
    readonly result: readonly { metric: Record<string, string>; value: [number, string] }[];
  }
  return {
    query: async (expression) => {
      const { result } = await ask<Found>(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
    },
    rules: async () => {
      const { groups } = await ask<{ groups: { rules: { name: string; health: string }[] }[] }>(
        "/api/v1/rules",
      );
      return groups.flatMap((group) => group.rules);
    },
  };
}
