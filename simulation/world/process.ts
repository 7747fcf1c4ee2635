import type { Dice } from "../dice.js";
import type { Engine } from "../engine/engine.js";
import type { ServerSession } from "../engine/server-session.js";
import type { Fate, Link } from "./link.js";
import type { Appointment, Schedule } from "./schedule.js";
import { unavailable } from "./sql-errors.js";
import type { Trace } from "./trace.js";

/** What is held up, by a cut or because its process is frozen, is tried again this often. */
const heldUpLookMs = 25;
/** After the way is well again, the client of a lost call hears of it within this time. */
const healedMsMax = 2_000;
/** A call that takes longer than this is one that something happened to. */
const troubleMs = 100;

/** What every process of a simulation shares. */
export interface Surroundings {
  readonly schedule: Schedule;
  readonly engine: Engine;
  readonly trace: Trace;
  /** Called after each statement: notifications are sent on their way, and what was recorded is read. */
  afterStatement(by: string, name: string, isFromOther: boolean): Promise<void>;
  readonly server: { isUp: boolean };
  /** A call of a process that goes badly has begun, or is over. */
  onTrouble(process: string, isBegun: boolean): void;
}

export interface Call<T> {
  readonly name: string;
  readonly timeoutMs: number;
  execute(): Promise<T>;
  /** Nobody will ever hear of the answer. */
  onOrphan?(answer: T): Promise<void>;
  /** The answer says that nothing was told or recorded, so that nobody has to look. */
  isIdle?(answer: T): boolean;
  /** It runs on another connection than the main one. */
  readonly isOther?: boolean;
  /** Code of the process runs in it: not while it is frozen, and not after its death. */
  readonly isOurs?: boolean;
}

/** A session of the process, as far as its end is concerned. */
export interface ProcessSession {
  onServerGone(): void;
  onDeath(): void;
}

interface Flight {
  isOver: boolean;
  /** Nobody will ever answer, and nobody says so. */
  isSilent: boolean;
  /** The server it was sent to is no more. */
  isDropped: boolean;
  land(what: () => void): void;
  fail(error: Error): void;
}

type Answer<T> = { readonly value: T } | { readonly error: Error };

/**
 * A process that can be frozen, thawed and killed. Whatever it waits for reaches it through deliver(): a frozen one gets it when it thaws, a dead one never, so that
 * the very code of the library stops where it stands.
 */
export class SimProcess {
  /** Such as `a#2`: the second process of worker a. */
  readonly name: string;
  readonly link: Link;
  readonly dice: Dice;
  readonly around: Surroundings;
  readonly sessions: Set<ProcessSession> = new Set();
  readonly transactions: Set<ServerSession> = new Set();
  /** Statements of it that the server refuses, by their names. */
  readonly refuses: Set<RegExp> = new Set();
  readonly #flights = new Set<Flight>();
  #state: "running" | "frozen" | "dead" = "running";
  #deferred: (() => void)[] = [];

  constructor(
    name: string,
    parts: { readonly link: Link; readonly dice: Dice; readonly around: Surroundings },
  ) {
    this.name = name;
    this.link = parts.link;
    this.dice = parts.dice;
    this.around = parts.around;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isFrozen(): boolean {
    return this.#state === "frozen";
  }

  deliver(what: () => void): void {
    if (this.#state === "running") what();
    else if (this.#state === "frozen") this.#deferred.push(what);
  }

  freeze(): void {
    if (this.#state === "running") this.#state = "frozen";
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    for (const what of this.#deferred.splice(0)) if (!this.isDead) what();
  }

  /** Ends it where it stands. Its connections break; what was on its way to the server may still arrive there. */
  die(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#deferred = [];
    for (const session of this.sessions) session.onDeath();
    this.#endTransactions();
  }

  sleep(ms: number, wake?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (wake?.aborted === true) return resolve();
      let isOver = false;
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        wake?.removeEventListener("abort", end);
        resolve();
      };
      const timer: Appointment = this.around.schedule.after(ms, () => this.deliver(end));
      wake?.addEventListener("abort", end);
    });
  }

  /** Sends something to the server, to run there alone, whenever it arrives. */
  call<T>(call: Call<T>): Promise<T> {
    const fate = this.link.fate();
    return new Promise<T>((resolve, reject) => {
      const flight = this.#takeOff(call, fate, reject);
      const { schedule, server } = this.around;
      const fail = (isAmbiguous: boolean): void => flight.fail(unavailable(call.name, isAmbiguous));
      const back = async (answer: Answer<T>): Promise<void> => {
        if (this.#isHeldUp(flight)) return void schedule.after(heldUpLookMs, () => back(answer));
        const isLost = flight.isOver || this.isDead || fate.lost === "after";
        if (isLost && "value" in answer) await call.onOrphan?.(answer.value);
        if (isLost) {
          if (!fate.isSilent) fail(true);
        } else if ("error" in answer) flight.fail(answer.error);
        else flight.land(() => resolve(answer.value));
      };
      const arrive = async (): Promise<void> => {
        const isFrozen = call.isOurs === true && this.isFrozen;
        if (isFrozen || this.#isHeldUp(flight)) return void schedule.after(heldUpLookMs, arrive);
        if (flight.isDropped || !this.#arrives(call, flight)) return;
        if (!server.isUp) return fail(!fate.isKnown);
        const answer = await this.#execute(call);
        schedule.after(fate.backMs, () => back(answer));
      };
      if (!server.isUp) schedule.after(fate.outMs, () => fail(false));
      else if (fate.lost !== "before") schedule.after(fate.outMs, arrive);
      else if (!fate.isSilent) schedule.after(fate.outMs, () => fail(!fate.isKnown));
    });
  }

  /** A call on its way, until it is answered, fails, or the client has waited for long enough. A bad one counts as something that happened to this process. */
  #takeOff(call: Call<unknown>, fate: Fate, reject: (error: Error) => void): Flight {
    const { schedule, onTrouble } = this.around;
    const isBad = fate.lost !== "no" || fate.outMs + fate.backMs > troubleMs;
    if (isBad) onTrouble(this.name, true);
    const flight: Flight = {
      isOver: false,
      isSilent: fate.lost !== "no" && fate.isSilent,
      isDropped: false,
      land: (what) => {
        if (flight.isOver) return;
        flight.isOver = true;
        this.#flights.delete(flight);
        patience.cancel();
        if (isBad) onTrouble(this.name, false);
        this.deliver(what);
      },
      fail: (error) => flight.land(() => reject(error)),
    };
    const patience = schedule.after(call.timeoutMs, () => flight.fail(unavailable(call.name, true)));
    this.#flights.add(flight);
    return flight;
  }

  /** What is sent again and again until the way is open. */
  #isHeldUp(flight: Flight): boolean {
    return this.link.isCut && !flight.isOver && !this.isDead;
  }

  /** Of what a process sent before it died or gave up, some arrives all the same. */
  #arrives(call: Call<unknown>, flight: Flight): boolean {
    if (!flight.isOver && !this.isDead) return true;
    return call.isOurs !== true && this.dice.chance(0.5);
  }

  /** The server went away: what had been sent may have run or not, and the client can't tell. */
  onServerGone(): void {
    for (const flight of [...this.#flights]) {
      flight.isDropped = true;
      flight.fail(unavailable("a statement", true));
    }
    for (const session of [...this.sessions]) session.onServerGone();
    this.#endTransactions();
  }

  /** The way to the server is well again, so what was lost on it without a word is told at last. */
  onWayHealed(): void {
    for (const flight of [...this.#flights])
      if (flight.isSilent)
        this.around.schedule.after(this.dice.between(1, healedMsMax), () =>
          flight.fail(unavailable("a statement", true)),
        );
  }

  async #execute<T>(call: Call<T>): Promise<Answer<T>> {
    const { afterStatement, trace } = this.around;
    let answer: Answer<T>;
    try {
      answer = { value: await call.execute() };
    } catch (error) {
      answer = { error: error instanceof Error ? error : new Error(String(error)) };
    }
    const outcome = "error" in answer ? ` !${answer.error.name}` : "";
    trace.statement(this.name, `${call.name}${outcome}`);
    const isIdle = "value" in answer && call.isIdle?.(answer.value) === true;
    if (!isIdle) await afterStatement(this.name, call.name, call.isOther === true);
    return answer;
  }

  #endTransactions(): void {
    for (const session of this.transactions) this.around.schedule.after(1, () => session.release());
    this.transactions.clear();
  }
}
