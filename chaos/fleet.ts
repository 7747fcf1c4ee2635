import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServerProxy } from "./proxy.js";
import type { Illness } from "./rights.js";
import type { WorkerTask } from "./settings.js";

/** One worker process, with the proxies between it and the server. */
export interface ChaosWorker {
  readonly name: string;
  readonly workerId: string;
  readonly child: ChildProcess;
  readonly proxy: ServerProxy;
  readonly sessionProxy: ServerProxy;
  readonly exited: Promise<void>;
  isFrozen: boolean;
  /** It was told to end, one way or another. */
  isEnding: boolean;
  isKilled: boolean;
  isReady: boolean;
  /** What the server refuses it just now. */
  readonly refused: Set<Illness>;
}

/** The worker processes of a chaos run. */
export class Fleet {
  readonly #url: string;
  readonly #folder: string;
  readonly #born = new Map<string, number>();
  readonly #workers = new Set<ChaosWorker>();
  /** Those that ended by themselves after they had begun to work, with the code they left. */
  readonly crashes: string[] = [];
  readonly #admit: (name: string) => Promise<(url: string) => string>;
  /** A process is gone, wanted or not. */
  onGone: (worker: ChaosWorker) => void = () => {};

  /** `admit` gives each process the address under which it connects; all are the same account when left out. */
  constructor(
    url: string,
    folder: string,
    admit: (name: string) => Promise<(url: string) => string> = () => Promise.resolve((same) => same),
  ) {
    this.#url = url;
    this.#folder = folder;
    this.#admit = admit;
  }

  /** Those that have not ended. */
  get workers(): readonly ChaosWorker[] {
    return [...this.#workers];
  }

  get journals(): readonly string[] {
    return [...this.#born].flatMap(([id, count]) =>
      Array.from({ length: count }, (_, n) => this.#journalOf(`${id}#${n + 1}`)),
    );
  }

  async start(workerId: string): Promise<ChaosWorker> {
    const count = (this.#born.get(workerId) ?? 0) + 1;
    this.#born.set(workerId, count);
    const name = `${workerId}#${count}`;
    const as = await this.#admit(name);
    const [proxy, sessionProxy] = await Promise.all([
      ServerProxy.before(this.#url),
      ServerProxy.before(this.#url),
    ]);
    const task: WorkerTask = {
      name,
      workerId,
      url: as(proxy.url),
      sessionUrl: as(sessionProxy.url),
      journal: this.#journalOf(name),
    };
    const file = fileURLToPath(new URL("worker-process.js", import.meta.url));
    const child = fork(file, [JSON.stringify(task)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const worker: ChaosWorker = {
      name,
      workerId,
      child,
      proxy,
      sessionProxy,
      exited: new Promise((resolve) =>
        child.once("exit", (code, signal) => {
          if (worker.isReady && !worker.isEnding)
            this.crashes.push(`${name} ended by itself: ${code ?? signal}`);
          resolve();
        }),
      ),
      isFrozen: false,
      isEnding: false,
      isKilled: false,
      isReady: false,
      refused: new Set(),
    };
    child.on("message", () => {
      worker.isReady = true;
    });
    this.#workers.add(worker);
    void worker.exited.then(() => {
      this.#workers.delete(worker);
      this.onGone(worker);
      proxy.close();
      sessionProxy.close();
    });
    return worker;
  }

  /** Ends every process, by force if it does not drain. */
  async stop(limitMs: number): Promise<void> {
    for (const worker of this.#workers) {
      worker.isEnding = true;
      worker.child.kill("SIGCONT");
      worker.child.kill("SIGTERM");
    }
    const timer = setTimeout(() => {
      for (const worker of this.#workers) worker.child.kill("SIGKILL");
    }, limitMs);
    await Promise.all([...this.#workers].map((worker) => worker.exited));
    clearTimeout(timer);
  }

  #journalOf(name: string): string {
    return join(this.#folder, `${name.replace("#", "-")}.jsonl`);
  }
}
