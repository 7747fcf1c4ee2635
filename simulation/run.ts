import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { againOptions, help, type RunOptions, runOptions } from "./options.js";
import { failureText, type Sum, sumText } from "./report.js";
import type { SeedAnswer, SeedTask } from "./seed-process.js";
import type { Simulated } from "./simulate.js";

/** The command `npm run simulate`: seeds spread over processes, each with a database of its own on one throw-away server. */

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const progressMs = 5_000;

async function main(): Promise<number> {
  let options: RunOptions | null;
  try {
    options = runOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}\n`);
    return 2;
  }
  if (options === null) {
    say(help);
    return 0;
  }
  const server = await startPostgres({
    settings: { autovacuum: "off", synchronous_commit: "off", max_connections: "200", jit: "off" },
  });
  try {
    return await new Run(options).on(server.url);
  } finally {
    await server.stop();
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #queue: number[];
  readonly #hashes = new Map<number, string>();
  readonly #sum: Sum = {
    seeds: 0,
    failed: 0,
    unequal: 0,
    statements: 0,
    faults: 0,
    jobs: 0,
    starts: 0,
    virtualMs: 0,
  };
  readonly #startedAtMs = performance.now();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#queue = Array.from({ length: options.times }, () => options.seeds).flat();
  }

  async on(url: string): Promise<number> {
    const { processes, isJson } = this.#options;
    const timer = setInterval(() => this.#progress(), progressMs);
    try {
      const databases = await makeDatabases(url, processes);
      await Promise.all(databases.map((database) => this.#drive(database)));
    } finally {
      clearInterval(timer);
    }
    const tookMs = performance.now() - this.#startedAtMs;
    say(isJson ? JSON.stringify({ ...this.#sum, tookMs }) : sumText(this.#sum, tookMs));
    return this.#sum.failed + this.#sum.unequal === 0 ? 0 : 1;
  }

  /** Feeds one process until no seed is left. */
  async #drive(database: string): Promise<void> {
    const what = this.#options.tenantMinutes === null ? "queues" : "tenants";
    const child = fork(fileURLToPath(new URL("seed-process.js", import.meta.url)), [database, what]);
    await new Promise<void>((resolve, reject) => {
      child.on("exit", (code) => reject(new Error(`A process that ran seeds ended with ${code}.`)));
      child.on("message", (answer: SeedAnswer) => {
        if (answer.is === "done") this.#take(answer.result);
        else if (answer.is === "failed") this.#fail(answer.seed, answer.error);
        if (!this.#send(child)) resolve();
      });
    });
    child.removeAllListeners("exit");
    child.disconnect();
  }

  #send(child: ChildProcess): boolean {
    const seed = this.#queue.shift();
    if (seed === undefined) return false;
    const { steps, tenantMinutes, isGrey, hasEdges, showsTrace: wantsTrace } = this.#options;
    child.send({ seed, steps, tenantMinutes, isGrey, hasEdges, wantsTrace } satisfies SeedTask);
    return true;
  }

  #take(result: Simulated): void {
    const { isJson, showsTrace } = this.#options;
    const { seed, hash, violations, trace, ...figures } = result;
    const sum = this.#sum;
    sum.seeds++;
    for (const name of ["statements", "faults", "jobs", "starts", "virtualMs"] as const)
      sum[name] += figures[name];
    const before = this.#hashes.get(seed);
    this.#hashes.set(seed, hash);
    if (before !== undefined && before !== hash) {
      sum.unequal++;
      say(
        `seed ${seed} has two traces, ${before} and ${hash}: something in it does not follow from the seed`,
      );
    }
    if (isJson) say(JSON.stringify({ seed, hash, ...figures, violations }));
    else if (this.#options.seeds.length === 1) say(`seed ${seed}: trace ${hash}, ${JSON.stringify(figures)}`);
    if (showsTrace) for (const line of trace) say(line);
    if (violations.length === 0) return;
    sum.failed++;
    if (!isJson) say(failureText(result, againOptions(seed, this.#options)));
  }

  #fail(seed: number, error: string): void {
    this.#sum.seeds++;
    this.#sum.failed++;
    say(
      `seed ${seed} could not be run: ${error}\nRun it again: npm run simulate -- ${againOptions(seed, this.#options)}`,
    );
  }

  #progress(): void {
    if (this.#options.isJson) return;
    const { seeds, failed } = this.#sum;
    const all = this.#options.seeds.length * this.#options.times;
    const seconds = Math.round((performance.now() - this.#startedAtMs) / 1_000);
    process.stderr.write(`${seconds} s: ${seeds} of ${all} seeds, ${failed} with violations\n`);
  }
}

async function makeDatabases(url: string, count: number): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const databases: string[] = [];
  for (let n = 1; n <= count; n++) {
    await client.query(`create database simulation_${n}`);
    const database = new URL(url);
    database.pathname = `/simulation_${n}`;
    databases.push(database.href);
  }
  await client.end();
  return databases;
}

process.exitCode = await main();
