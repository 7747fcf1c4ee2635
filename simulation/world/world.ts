import type { Dice } from "../dice.js";
import type { Engine } from "../engine/engine.js";
import type { Entry } from "../entries.js";
import { Link, type Weather } from "./link.js";
import { SimProcess } from "./process.js";
import { Schedule } from "./schedule.js";
import { SimSession } from "./sessions.js";
import { Trace } from "./trace.js";

/** Statements after which nobody can see a change; all others are followed by a look at what was told and recorded. */
const idleStatements =
  /^(lh_(wish_wake|list_queues|read_server|find_queue|count_jobs|list_jobs|explain_job|list_workers|list_migrations|list_tenant_leases)|session lh_(find_channels|hold_session_lock)|begin|query|open session|listen)/;

const claimStatements = /^lh_claim_/;

/** All that a seed decides about: processes, the ways between them and the server, and time. */
export class World {
  readonly schedule: Schedule;
  readonly trace: Trace;
  readonly history: Entry[] = [];
  readonly server: { isUp: boolean } = { isUp: true };
  readonly processes: Set<SimProcess> = new Set();
  readonly engine: Engine;
  readonly weather: Weather;
  readonly #dice: Dice;
  readonly #openFaults = new Map<string, Set<string>>();
  readonly #troubles = new Map<string, number>();
  /** Also those that are gone: what they have sent may still be on its way. */
  readonly #everybody = new Set<SimProcess>();

  constructor(engine: Engine, dice: Dice, weather: Weather) {
    this.engine = engine;
    this.weather = weather;
    this.#dice = dice;
    this.schedule = new Schedule(dice.fork("schedule"));
    this.trace = new Trace(this.schedule);
  }

  spawn(name: string): SimProcess {
    const link = new Link(this.#dice.fork(`link of ${name}`), this.weather);
    const process = new SimProcess(name, {
      link,
      dice: this.#dice.fork(`process ${name}`),
      around: {
        schedule: this.schedule,
        engine: this.engine,
        trace: this.trace,
        server: this.server,
        afterStatement: (by, statement, isFromOther) => this.#afterStatement(by, statement, isFromOther),
        onTrouble: (by, isBegun) => this.#onTrouble(by, isBegun),
      },
    });
    this.processes.add(process);
    this.#everybody.add(process);
    return process;
  }

  note(entry: Entry): void {
    this.history.push(entry);
  }

  /** Something is wrong with a process, or with all (`*`), until healed() or for good. */
  hit(process: string, what: string): void {
    const open = this.#openFaults.get(process) ?? new Set<string>();
    this.#openFaults.set(process, open.add(what));
    this.#fault(process, what, "hit");
  }

  healed(process: string, what: string): void {
    if (this.#openFaults.get(process)?.delete(what) === true) this.#fault(process, what, "ok");
  }

  gone(process: SimProcess, what: string): void {
    this.processes.delete(process);
    this.#fault(process.name, what, "gone");
  }

  /** The server goes away and comes back: every connection breaks, and what was on its way is lost or unanswered. */
  restartServer(downMs: number): void {
    if (!this.server.isUp) return;
    this.server.isUp = false;
    this.hit("*", "server restarts");
    for (const process of this.#everybody) process.onServerGone();
    this.schedule.after(downMs, async () => {
      await this.engine.endSessions();
      this.server.isUp = true;
      this.healed("*", "server restarts");
    });
  }

  #onTrouble(process: string, isBegun: boolean): void {
    const count = (this.#troubles.get(process) ?? 0) + (isBegun ? 1 : -1);
    this.#troubles.set(process, count);
    if (isBegun && count === 1) this.hit(process, "bad weather");
    else if (count === 0) this.healed(process, "bad weather");
  }

  #fault(process: string, what: string, state: "hit" | "ok" | "gone"): void {
    this.trace.say(process, `** ${what}: ${state}`);
    this.note({ is: "fault", atMs: this.schedule.nowMs, process, what, state });
  }

  async #afterStatement(by: string, name: string, isFromOther: boolean): Promise<void> {
    if (idleStatements.test(name)) return;
    for (const notice of await this.engine.takeNotices(isFromOther))
      for (const process of this.processes)
        for (const session of process.sessions) if (session instanceof SimSession) session.hear(notice);
    const entries = this.engine.takeRecorded(by, this.schedule.nowMs);
    for (const entry of entries) this.note(entry);
    if (claimStatements.test(name) && entries.length === 0)
      this.note({ is: "looked in vain", atMs: this.schedule.nowMs, process: by });
    // Where rows lie on disk is not for the seed to say, so the lines of one statement are sorted.
    const lines = entries.flatMap((entry) =>
      entry.is === "moved"
        ? [
            `   ${entry.key} #${entry.seq} ${entry.from?.status ?? "-"} -> ${entry.to?.status ?? "-"} ${entry.id}`,
          ]
        : [],
    );
    for (const line of lines.sort()) this.trace.say(by, line);
  }
}
