import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { FleetMessage, FleetOrder, FleetSettings } from "./fleet-worker.js";
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
  tell(process: FleetProcess, order: FleetOrder): void;
  /** True when every live worker is asleep, since later than the time given. Only those on a held clock tell. */
  isAsleep(since?: number): boolean;
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
    tell: (one, order) => void one.child.send(order),
    isAsleep: (since = 0) =>
      fleet.alive().every(({ id }) => {
        const isSleep = ({ worker, name }: ToldEvent) =>
          worker === id && (name === "asleep" || name === "awake");
        const last = fleet.events.findLast(isSleep);
        return last?.name === "asleep" && last.at > since;
      }),
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
