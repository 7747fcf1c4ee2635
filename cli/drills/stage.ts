import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresServer } from "../../src/embedded.js";
import type { ConnectOptions, Leasehold, Queue, WorkerRow } from "../../src/index.js";
import { exitCodes } from "../exit-codes.js";
import { CliError } from "../failure.js";
import { DrillWorker, type WorkerSettings } from "./drill-worker.js";
import { limits } from "./limits.js";
import { Load, type LoadShape } from "./load.js";

/** What a stage needs of the command around it. */
export interface StageParts {
  readonly environment: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** The program of the workers, for tests, which run the sources. */
  readonly workerEntry?: string;
  note(line: string): void;
  progress(what: string): (done: number) => void;
}

type WorkerChoice = Partial<Omit<WorkerSettings, "id">>;

/** A server of its own with a queue, worker processes and load. stop() ends all of it. */
export class Stage {
  readonly url: string;
  readonly lh: Leasehold;
  readonly inbox: Queue;
  readonly #server: PostgresServer;
  readonly #parts: StageParts;
  readonly #workers = new Set<DrillWorker>();
  readonly #loads = new Set<Load>();
  readonly #connections: Leasehold[];
  #isStopped = false;

  private constructor(server: PostgresServer, lh: Leasehold, inbox: Queue, parts: StageParts) {
    this.url = server.url;
    this.lh = lh;
    this.inbox = inbox;
    this.#server = server;
    this.#parts = parts;
    this.#connections = [lh];
  }

  static async open(parts: StageParts): Promise<Stage> {
    parts.note("Starting a PostgreSQL of its own; its data are thrown away at the end.");
    const { startPostgres } = await import("../../src/embedded.js");
    const { connect } = await import("../../src/index.js");
    // A throw-away server commits asynchronously unless told otherwise, and doctor would say so. Vacuum every 5 s, so that the drill can show it.
    const settings = { synchronous_commit: "on", autovacuum_naptime: "5s" };
    const server = await startPostgres({ settings }).catch((error: unknown) => {
      throw noBinaries(error);
    });
    let lh: Leasehold | null = null;
    try {
      lh = await connect({ url: server.url, schema: "leasehold", logger: false });
      await lh.migrate();
      return new Stage(server, lh, await lh.queue("inbox", { order: "key" }), parts);
    } catch (error) {
      await lh?.close().catch(() => {}); // What failed first is told.
      await server.stop();
      throw error;
    }
  }

  get isStopped(): boolean {
    return this.#isStopped || this.#parts.signal.aborted;
  }

  /** Another connection of this process, such as that of another application. */
  async connect(options: ConnectOptions): Promise<Leasehold> {
    const { connect } = await import("../../src/index.js");
    const lh = await connect({ url: this.url, schema: "leasehold", logger: false, ...options });
    this.#connections.push(lh);
    return lh;
  }

  startWorker(id: string, choice: WorkerChoice = {}): DrillWorker {
    this.#checkGoesOn();
    const settings = { id, url: this.url, concurrency: 8, release: "fixed" as const, ...choice };
    const worker = new DrillWorker(settings, this.#parts.environment, this.#parts.workerEntry);
    this.#workers.add(worker);
    void worker.ended.then(() => this.#isStopped || this.#workers.delete(worker));
    return worker;
  }

  /** Starts worker processes, and resolves when all of them are in the registry. */
  async startWorkers(ids: readonly string[], choice: WorkerChoice = {}): Promise<readonly DrillWorker[]> {
    const workers = ids.map((id) => this.startWorker(id, choice));
    await this.untilWorking(ids);
    return workers;
  }

  async untilWorking(ids: readonly string[]): Promise<void> {
    const isIn = (id: string, rows: readonly WorkerRow[]): boolean =>
      rows.some((row) => row.id === id && row.state === "alive" && row.queues.includes("inbox"));
    await this.until(
      `${ids.join(", ")} ${ids.length === 1 ? "is" : "are"} in the registry`,
      async () => {
        const rows = await this.lh.workers();
        return ids.every((id) => isIn(id, rows));
      },
      limits.workersMs,
    );
  }

  startLoad(shape: LoadShape): Load {
    const load = new Load(this.inbox, shape);
    this.#loads.add(load);
    return load;
  }

  /** Looks until it is so. Shows for what it waits, and for how long already. */
  async until(what: string, isSo: () => Promise<boolean>, limitMs: number = limits.symptomMs): Promise<void> {
    const startedAt = performance.now();
    this.#parts.note(`Waiting until ${what}.`);
    const tell = this.#parts.progress("Seconds so far");
    for (;;) {
      this.#checkGoesOn();
      for (const { failure } of this.#loads) if (failure !== null) throw failure;
      if (await isSo()) return;
      const tookMs = performance.now() - startedAt;
      if (tookMs > limitMs) throw this.failure(`Timed out after ${limitMs / 1_000} s waiting until ${what}.`);
      tell(tookMs / 1_000);
      await sleep(limits.lookMs);
    }
  }

  note(line: string): void {
    this.#parts.note(line);
  }

  /** Kills what works, and takes the server and its data away. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#loads].map((load) => load.stop()));
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
    await Promise.all(this.#connections.map((lh) => lh.close().catch(() => {}))); // Some were cut off on purpose.
    await this.#server.stop();
  }

  #checkGoesOn(): void {
    if (!this.isStopped) return;
    throw new CliError("CLI_INTERRUPTED", exitCodes.interrupted, { message: "The drill was interrupted." });
  }

  /** What ends a drill that does not go as expected, with the last lines of the workers. */
  failure(message: string): CliError {
    const lines = [...this.#workers].flatMap(({ id, lastLines }) =>
      lastLines.slice(-3).map((line) => `${id}: ${line}`),
    );
    const said = lines.length === 0 ? "" : ` The workers said last: ${lines.join(" | ")}`;
    return new CliError("CLI_DRILL_FAILED", exitCodes.failed, {
      message: `${message}${said}`,
      advice: "Run it again; if it stays so, report it with this message.",
    });
  }
}

/** The library advises to connect to another server, which a drill never does. */
export function noBinaries(error: unknown): unknown {
  if (!(error instanceof Error && error.message.startsWith("No PostgreSQL binaries"))) return error;
  return new CliError("CLI_NO_DEV_PACKAGE", exitCodes.notFound, {
    message:
      "A drill starts a PostgreSQL of its own, from the package leasehold-dev, which is not installed.",
    advice: "Install it: npm install --save-dev leasehold-dev",
    cause: error,
  });
}
