import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Dice } from "../simulation/dice.js";
import type { PostgresServer } from "../src/embedded.js";
import type { Claimer } from "./claimer.js";
import type { ChaosWorker, Fleet } from "./fleet.js";
import type { Journal } from "./journal.js";
import { type Illness, illnesses, type Rights } from "./rights.js";
import type { ServerClock } from "./server-clock.js";
import { clockOffsetMs, leaseMs, ttlMs } from "./settings.js";

const ids = ["a", "b", "c", "d", "e"] as const;
const workersMin = 2;
const restartMs = 1_000;
/** Short ones pass before anybody has to act; long ones are longer than a bucket may be without an owner who can claim from it. */
const greyMs = { short: [1_000, 10_000], long: [25_000, 40_000] } as const;

type Act = (worker: ChaosWorker) => void | Promise<void>;

/** Does to real processes what machines, networks and people do, and writes down what it did to whom. */
export class Nemesis {
  readonly #server: PostgresServer;
  readonly #fleet: Fleet;
  readonly #journal: Journal;
  readonly #dice: Dice;
  readonly #rights: Rights;
  readonly #claimer: Claimer;
  readonly #clock: ServerClock | null;
  readonly #counts = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(parts: {
    readonly server: PostgresServer;
    readonly fleet: Fleet;
    readonly journal: Journal;
    readonly dice: Dice;
    readonly rights: Rights;
    readonly claimer: Claimer;
    /** Null when the server has the time of the machine. */
    readonly clock: ServerClock | null;
  }) {
    this.#clock = parts.clock;
    this.#rights = parts.rights;
    this.#claimer = parts.claimer;
    this.#server = parts.server;
    this.#fleet = parts.fleet;
    this.#journal = parts.journal;
    this.#dice = parts.dice;
    this.#fleet.onGone = (worker) =>
      this.#note(worker.name, worker.isEnding && !worker.isKilled ? "drained" : "killed", "gone");
    this.#claimer.onGone = (name) => this.#note(name, "killed", "gone");
  }

  /** How often each fault was made. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Strikes until then. Who was frozen is thawed in the end. */
  async run(untilMs: number, everyMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await sleep(everyMs * this.#dice.between(0.7, 1.3));
      await this.#strike();
    }
    await Promise.all(this.#pending);
    for (const id of ids.slice(0, workersMin)) if (!this.#isLive(id)) await this.#fleet.start(id);
  }

  async #strike(): Promise<void> {
    const { workers } = this.#fleet;
    const settled = workers.filter((worker) => worker.isReady && !worker.isEnding && !worker.isFrozen);
    if (settled.length < workersMin || this.#dice.chance(0.05)) return await this.#add();
    const acts: readonly (readonly [string, Act])[] = [
      ["kill -9", (worker) => this.#kill(worker)],
      ["drain", (worker) => this.#drain(worker)],
      ["freeze", (worker) => this.#freeze(worker, this.#dice.between(200, leaseMs))],
      ["long freeze", (worker) => this.#freeze(worker, this.#dice.between(ttlMs, ttlMs * 2.5))],
      ["backends ended", (worker) => this.#endBackends(worker)],
      ["connections cut", (worker) => this.#cut(worker)],
      ["slow network", (worker) => this.#slow(worker)],
      ["session swallowed", (worker) => this.#swallow(worker)],
      ["session ended on the server's side", (worker) => this.#breakSession(worker)],
      ...illnesses.map(
        (illness) => [illness, (worker: ChaosWorker) => this.#refuse(worker, illness)] as const,
      ),
      ["claimer by hand killed", () => this.#claimer.kill()],
      ["server stopped", () => this.#restart()],
    ];
    const [name, act] = this.#dice.pick(acts);
    this.#count(name);
    await act(this.#dice.pick(settled));
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  #isLive(workerId: string): boolean {
    return this.#fleet.workers.some((worker) => worker.workerId === workerId && !worker.isEnding);
  }

  async #add(): Promise<void> {
    const id = ids.find((one) => !this.#fleet.workers.some((worker) => worker.workerId === one));
    if (id === undefined) return;
    this.#count("worker added");
    await this.#fleet.start(id);
  }

  #kill(worker: ChaosWorker): void {
    worker.isEnding = true;
    worker.isKilled = true;
    worker.child.kill("SIGKILL");
    this.#later(restartMs, async () => {
      if (!this.#isLive(worker.workerId)) await this.#fleet.start(worker.workerId);
    });
  }

  #drain(worker: ChaosWorker): void {
    worker.isEnding = true;
    this.#note(worker.name, "draining", "hit");
    worker.child.kill("SIGTERM");
  }

  #freeze(worker: ChaosWorker, ms: number): void {
    worker.isFrozen = true;
    this.#during(worker, "frozen", ms, () => {
      worker.child.kill("SIGCONT");
      worker.isFrozen = false;
    });
    worker.child.kill("SIGSTOP");
  }

  async #endBackends(worker: ChaosWorker): Promise<void> {
    this.#during(worker, "backends", 100);
    const client = new pg.Client({ connectionString: this.#server.url });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
        [worker.name],
      );
    } catch {
      // The server is just away; then its backends are too.
    } finally {
      await client.end().catch(() => {});
    }
  }

  #slow(worker: ChaosWorker): void {
    const { proxy, sessionProxy } = worker;
    const delayMs = this.#dice.pick([20, 200, 1_000]);
    const set = (ms: number): void => {
      proxy.delayMs = ms;
      sessionProxy.delayMs = ms;
    };
    this.#during(worker, "slow", this.#dice.between(500, 4_000), () => set(0));
    set(delayMs);
  }

  #cut(worker: ChaosWorker): void {
    this.#during(worker, "cut", 50);
    worker.proxy.cut();
  }

  #swallow(worker: ChaosWorker): void {
    this.#during(worker, "session", ttlMs * 2);
    worker.sessionProxy.swallow();
  }

  /** Its lock is free, and its beats go on. */
  #breakSession(worker: ChaosWorker): void {
    this.#during(worker, "session", ttlMs * 2);
    worker.sessionProxy.breakServerSide();
  }

  /** The server refuses it one sort of statement for a while; told before the first is refused, and healed after the last. */
  async #refuse(worker: ChaosWorker, illness: Illness): Promise<void> {
    if (worker.refused.has(illness)) return;
    worker.refused.add(illness);
    this.#note(worker.name, illness, "hit");
    await this.#rights.refuse(worker.name, illness);
    const [least, most] = this.#dice.chance(0.5) ? greyMs.short : greyMs.long;
    this.#later(this.#dice.between(least, most), async () => {
      await this.#rights.allow(worker.name, illness);
      worker.refused.delete(illness);
      this.#note(worker.name, illness, "ok");
    });
  }

  async #restart(): Promise<void> {
    this.#note("*", "server", "hit");
    if (this.#clock !== null || this.#dice.chance(0.3)) await this.#server.kill();
    if (this.#clock !== null && this.#dice.chance(0.7)) {
      this.#count("server's clock moved");
      this.#clock.set(this.#server, this.#dice.whole(-clockOffsetMs, clockOffsetMs));
    }
    await this.#server.restart("immediate");
    this.#note("*", "server", "ok");
  }

  /** Something is wrong with a worker from now on, for so long. */
  #during(worker: ChaosWorker, what: string, ms: number, end: () => void = () => {}): void {
    this.#note(worker.name, what, "hit");
    this.#later(ms, () => {
      end();
      this.#note(worker.name, what, "ok");
    });
  }

  /** Happens after so long, also when the nemesis has ended: nobody stays frozen. */
  #later(ms: number, act: () => void | Promise<void>): void {
    const done = sleep(ms)
      .then(act)
      .catch((error: unknown) => void process.stderr.write(`A fault could not be undone: ${String(error)}\n`))
      .finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }

  #note(process: string, what: string, state: "hit" | "ok" | "gone"): void {
    this.#journal.note({ is: "fault", process, what, state });
  }
}
