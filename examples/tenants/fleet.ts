import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type FromWorker, nowMs } from "./messages.js";
import { heartbeatMs, ttlMs } from "./settings.js";
import type { Witness } from "./witness.js";

const stopLimitMs = 15_000;
const program = fileURLToPath(new URL("./worker.js", import.meta.url));

export interface FleetSettings {
  readonly url: string;
  readonly tenants: number;
  readonly tickMs: number;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

/** The worker processes. They never outlive this one: when the channel between them closes, a worker drains and ends. */
export class Fleet {
  readonly #settings: FleetSettings;
  readonly #witness: Witness;
  readonly #running = new Map<string, Running>();
  readonly #killed = new Set<string>();
  #started = 0;
  /** What went wrong with processes, in sentences. */
  readonly complaints: string[] = [];

  constructor(settings: FleetSettings, witness: Witness) {
    this.#settings = settings;
    this.#witness = witness;
  }

  /** Those that run, in the order in which they were started. */
  get ids(): readonly string[] {
    return [...this.#running.keys()];
  }

  add(): string {
    const id = `worker-${++this.#started}`;
    const { url, tenants, tickMs } = this.#settings;
    const child = fork(program, [String(tenants)], {
      env: {
        ...process.env,
        DATABASE_URL: url,
        LEASEHOLD_SCHEMA: "leasehold",
        WORKER_ID: id,
        WORKER_LEASE_HEARTBEAT_MS: String(heartbeatMs),
        WORKER_LEASE_TTL_MS: String(ttlMs),
        WORKER_OWNERSHIP_TICK_MS: String(tickMs),
      },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let words = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      words = `${words}${text}`.slice(-2_000);
    });
    child.on("message", (message) => this.#witness.hear(id, message as FromWorker));
    const ended = new Promise<void>((resolve) => {
      const end = (how: string): void => {
        if (how !== "0" && !this.#killed.has(id)) this.complaints.push(`${id} ended with ${how}. ${words}`);
        this.#witness.gone(id, nowMs());
        this.#running.delete(id);
        resolve();
      };
      child.once("error", (error) => end(error.message));
      child.once("close", (code, signal) => end(String(code ?? signal)));
    });
    this.#running.set(id, { child, ended });
    return id;
  }

  /** As an orchestrator does it: SIGTERM, and wait. */
  async stop(id: string): Promise<void> {
    const running = this.#running.get(id);
    running?.child.kill("SIGTERM");
    await running?.ended;
  }

  /** As the out-of-memory killer does it. */
  async kill(id: string): Promise<void> {
    const running = this.#running.get(id);
    this.#killed.add(id);
    this.#witness.gone(id, nowMs());
    running?.child.kill("SIGKILL");
    await running?.ended;
  }

  /** Drains all of them. Who does not come to an end in time is killed. */
  async stopAll(): Promise<void> {
    const all = Promise.all(this.ids.map((id) => this.stop(id)));
    const late = new AbortController();
    await Promise.race([all, sleep(stopLimitMs, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    for (const id of this.ids) {
      this.complaints.push(`${id} did not stop within ${stopLimitMs} ms.`);
      await this.kill(id);
    }
  }
}
