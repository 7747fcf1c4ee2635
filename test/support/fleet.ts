import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { FleetJob, FleetMessage, FleetSettings } from "./fleet-worker.js";
import type { World } from "./world.js";

export interface Told {
  readonly worker: string;
  readonly is: "start" | "end";
  readonly key: string;
  readonly n: number;
  readonly attempt: number;
  readonly token: bigint;
  readonly at: number;
}

export interface ToldEvent {
  readonly worker: string;
  readonly name: string;
  readonly event: Record<string, unknown>;
  readonly at: number;
}

/** One worker process. */
export interface FleetProcess {
  readonly id: string;
  readonly child: ChildProcess;
  /** When it is known to be gone; null while it lives. */
  endedAt: number | null;
  wasKilled: boolean;
  exited: Promise<number | null>;
}

/** Worker processes of one test, and everything they told. */
export interface Fleet {
  readonly told: Told[];
  readonly events: ToldEvent[];
  readonly processes: FleetProcess[];
  add(id: string, more?: Partial<FleetSettings>): Promise<FleetProcess>;
  /** SIGKILL; resolves when the process is gone. */
  kill(process: FleetProcess): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  drain(process: FleetProcess): Promise<number | null>;
  alive(): readonly FleetProcess[];
}

export const now = (): number => performance.timeOrigin + performance.now();

const workerFile = join(process.cwd(), "build/test/support/fleet-worker.js");

export function openFleet(world: World, settings: Partial<FleetSettings> = {}): Fleet {
  const fleet: Fleet = {
    told: [],
    events: [],
    processes: [],
    async add(id, more = {}) {
      const all = { url: world.url, schema: world.schema, ...settings, ...more, workerId: id };
      const child = fork(workerFile, [JSON.stringify(all)], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      const one: FleetProcess = {
        id,
        child,
        endedAt: null,
        wasKilled: false,
        exited: new Promise((resolve) => {
          child.once("exit", (code) => {
            one.endedAt ??= now();
            resolve(code);
          });
        }),
      };
      fleet.processes.push(one);
      await new Promise<void>((resolve, reject) => {
        child.on("message", (message: FleetMessage) => {
          if (message.is === "ready") resolve();
          else record(fleet, id, message);
        });
        void one.exited.then((code) =>
          reject(new Error(`worker ${id} ended with ${code} before it was ready`)),
        );
      });
      return one;
    },
    async kill(one) {
      one.wasKilled = true;
      one.endedAt = now();
      one.child.kill("SIGKILL");
      await one.exited;
    },
    async drain(one) {
      one.child.kill("SIGTERM");
      return await one.exited;
    },
    alive: () => fleet.processes.filter((one) => one.endedAt === null),
  };
  onTestFinished(async () => {
    for (const one of fleet.processes) if (one.child.exitCode === null) one.child.kill("SIGKILL");
    await Promise.all(fleet.processes.map((one) => one.exited));
  });
  return fleet;
}

function record(fleet: Fleet, worker: string, message: Exclude<FleetMessage, { is: "ready" }>): void {
  if (message.is === "event") fleet.events.push({ worker, ...message });
  else fleet.told.push({ worker, ...message, token: BigInt(message.token) });
}

/** A steady load over keys: every key gets its next job in turn. */
export class Load {
  readonly keys: readonly string[];
  readonly #next = new Map<string, number>();
  /** When each job of a key had committed, by its number. */
  readonly committedAt: Map<string, number[]> = new Map();
  readonly #world: World;
  #turn = 0;
  #isOn = false;
  #running: Promise<void> = Promise.resolve();

  constructor(world: World, keys: number, name = "key") {
    this.#world = world;
    this.keys = Array.from({ length: keys }, (_, i) => `${name}:${i}`);
  }

  get enqueued(): number {
    let sum = 0;
    for (const count of this.#next.values()) sum += count;
    return sum;
  }

  countOf(key: string): number {
    return this.#next.get(key) ?? 0;
  }

  async enqueue(count: number, job: Omit<FleetJob, "n"> = {}): Promise<void> {
    const inbox = await this.#world.lh.queue("inbox");
    const jobs = Array.from({ length: count }, () => {
      const partitionKey = this.keys[this.#turn++ % this.keys.length] ?? "";
      const n = this.#next.get(partitionKey) ?? 0;
      this.#next.set(partitionKey, n + 1);
      return { kind: "work", payload: { n, ...job }, partitionKey };
    });
    await inbox.enqueueMany(jobs);
    const at = now();
    for (const { partitionKey, payload } of jobs) {
      const times = this.committedAt.get(partitionKey) ?? [];
      times[payload.n] = at;
      this.committedAt.set(partitionKey, times);
    }
  }

  /** So many a second until stop(), in small batches; what the clock missed is caught up with. */
  start(perSecond: number, job: Omit<FleetJob, "n"> = {}): void {
    this.#isOn = true;
    const startedAt = now();
    let sent = 0;
    this.#running = (async () => {
      while (this.#isOn) {
        const due = Math.min(500, Math.floor(((now() - startedAt) / 1000) * perSecond) - sent);
        if (due > 0) await this.enqueue(due, job);
        sent += Math.max(0, due);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }
}

/** Waits until nothing is pending, scheduled or in process. */
export async function untilDrained(world: World, limitMs = 60_000): Promise<void> {
  const inbox = await world.lh.queue("inbox");
  const until = now() + limitMs;
  for (;;) {
    const { pending, processing, scheduled } = await inbox.stats();
    if (pending + processing + scheduled === 0) return;
    if (now() > until) throw new Error(`not drained: ${JSON.stringify({ pending, processing, scheduled })}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
