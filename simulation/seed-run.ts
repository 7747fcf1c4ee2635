import type {
  SeedResult,
  SimulationReport,
  SimulationSurroundings,
  SimulationValues,
} from "../cli/simulation.js";
import { againCommand, type RunOptions } from "./options.js";
import { failureText } from "./report.js";
import type { SeedTask } from "./seed-process.js";
import { SeedWorker } from "./seed-worker.js";
import type { Simulated } from "./simulate.js";

const progressMs = 5_000;

/** The seeds of one call, spread over processes with a database each, and the report on them. */
export class SeedRun {
  readonly #options: RunOptions;
  readonly #values: SimulationValues;
  readonly #surroundings: SimulationSurroundings;
  readonly #queue: number[];
  readonly #hashes = new Map<number, string>();
  readonly #results: SeedResult[] = [];
  readonly #sum = { failed: 0, unequal: 0, statements: 0, jobs: 0, starts: 0, faults: 0, virtualMs: 0 };
  readonly #startedAtMs = performance.now();

  constructor(options: RunOptions, values: SimulationValues, surroundings: SimulationSurroundings) {
    this.#options = options;
    this.#values = values;
    this.#surroundings = surroundings;
    this.#queue = Array.from({ length: options.times }, () => options.seeds).flat();
  }

  get processes(): number {
    return this.#options.processes;
  }

  /** Resolves when every seed has run, or when the run was interrupted. No process is left when it settles. */
  async on(databases: readonly string[]): Promise<void> {
    const failure = new AbortController();
    const signal = AbortSignal.any([this.#surroundings.signal, failure.signal]);
    const timer = setInterval(() => this.#progress(), progressMs);
    const driven = databases.map((database) => this.#drive(database, signal));
    try {
      await Promise.all(driven);
    } finally {
      clearInterval(timer);
      failure.abort();
      await Promise.allSettled(driven);
    }
  }

  report(): SimulationReport {
    return {
      isInterrupted: this.#surroundings.signal.aborted,
      tookMs: Math.round(performance.now() - this.#startedAtMs),
      seeds: this.#results.length,
      ...this.#sum,
      results: this.#results.toSorted((one, other) => one.seed - other.seed),
    };
  }

  /** Feeds one process until no seed is left. */
  async #drive(database: string, signal: AbortSignal): Promise<void> {
    const { steps, tenantMinutes, isGrey, hasEdges, showsTrace: wantsTrace } = this.#options;
    const worker = new SeedWorker(database, tenantMinutes === null ? "queues" : "tenants", signal);
    try {
      for (;;) {
        const seed = signal.aborted ? undefined : this.#queue.shift();
        if (seed === undefined) return;
        const task: SeedTask = { seed, steps, tenantMinutes, isGrey, hasEdges, wantsTrace };
        const answer = await worker.run(task);
        if (answer === null) return;
        if (answer.is === "done") this.#take(answer.result);
        else this.#fail(answer.seed, answer.error);
      }
    } finally {
      await worker.end();
    }
  }

  #take(result: Simulated): void {
    const { say } = this.#surroundings;
    const { seed, hash, violations, trace } = result;
    const again = againCommand(seed, this.#values);
    for (const name of ["statements", "faults", "jobs", "starts", "virtualMs"] as const)
      this.#sum[name] += result[name];
    const before = this.#hashes.get(seed) ?? hash;
    this.#hashes.set(seed, hash);
    const { showsTrace } = this.#options;
    this.#results.push({ seed, again, hash, violations, error: null, ...(showsTrace ? { trace } : {}) });
    if (before !== hash) {
      this.#sum.unequal++;
      say(
        `seed ${seed} has two traces, ${before} and ${hash}: something in it does not follow from the seed`,
      );
      say(`Run it again: ${again} --times ${this.#options.times}`);
    }
    if (this.#options.seeds.length === 1) say(`seed ${seed}: trace ${hash}`);
    if (showsTrace) for (const line of trace) say(line);
    if (violations.length === 0) return;
    this.#sum.failed++;
    say(failureText(result, again));
  }

  #fail(seed: number, error: string): void {
    const again = againCommand(seed, this.#values);
    this.#sum.failed++;
    this.#results.push({ seed, again, hash: null, violations: [], error });
    this.#surroundings.say(`seed ${seed} could not be run: ${error}\nRun it again: ${again}`);
  }

  #progress(): void {
    const all = this.#options.seeds.length * this.#options.times;
    const seconds = Math.round((performance.now() - this.#startedAtMs) / 1_000);
    const { failed } = this.#sum;
    this.#surroundings.note(`${seconds} s: ${this.#results.length} of ${all} seeds, ${failed} failed`);
  }
}
