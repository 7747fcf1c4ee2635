import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { ExitGuard } from "../../src/adapters/embedded-postgres/exit-guard.js";
import type { ServerFolder } from "../../src/adapters/embedded-postgres/server-folder.js";

interface ProcessPlan {
  readonly program: string;
  readonly configPath: string;
  readonly folder: ServerFolder;
  readonly guard: ExitGuard;
}

/** One run of the program pgbouncer, from its start to its end. */
export class PgBouncerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #words: string[] = [];
  #isRunning = true;

  constructor({ program, configPath, folder, guard }: ProcessPlan) {
    const { path: cwd, account } = folder;
    // It refuses to run as root. In a session of its own, Ctrl-C in a terminal leaves it to the teardown of the tests.
    this.#child = spawn(program, [configPath], {
      cwd,
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
      ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    });
    guard.follow(this.#child.pid);
    this.#ended = new Promise<void>((resolve) => {
      // "close" comes after the last line was read, "error" when the program could not be started at all.
      this.#child.once("close", () => resolve());
      this.#child.once("error", (error) => {
        this.#keep(error.message);
        resolve();
      });
    }).then(() => {
      this.#isRunning = false;
      guard.follow(undefined);
    });
    if (this.#child.stderr !== null) {
      createInterface({ input: this.#child.stderr }).on("line", (line) => this.#keep(line));
    }
  }

  /** Waits until the server answers through the pooler. False when the pooler ended, or did not answer in time. */
  async isReady(url: string): Promise<boolean> {
    const until = Date.now() + READY_TIMEOUT_MS;
    let trouble: string | null = null;
    while (this.#isRunning && Date.now() < until) {
      // Whoever else took the port may accept the connection and never answer; our own end comes first.
      trouble = await Promise.race([troubleAt(url), this.#ended.then(() => "it ended")]);
      if (trouble === null) return this.#isRunning;
      await sleep(READY_POLL_MS);
    }
    this.#keep(`(the last answer at its port: ${trouble})`);
    return false;
  }

  /** It keeps nothing that could be lost, and the signals for a quick end differ between versions. */
  async kill(): Promise<void> {
    if (this.#isRunning) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  lastWords(): string {
    return this.#words.join("\n");
  }

  #keep(line: string): void {
    this.#words.push(line);
    if (this.#words.length > LINES_KEPT_MAX) this.#words.shift();
  }
}

/** What is wrong with the server at an address; null when it answers. */
async function troubleAt(url: string): Promise<string | null> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
  });
  // The same failure also rejects the call below; without a listener it would end the process as well.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
    return null;
  } catch (error) {
    return String(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const LINES_KEPT_MAX = 40;
const READY_POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 2_000;
