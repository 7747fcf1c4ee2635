import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Journal } from "./journal.js";
import { Member } from "./member.js";
import { drain, type FromWorker, type Start } from "./messages.js";
import { leaseholdSchema } from "./settings.js";

const membersMax = 9;
const goneShownMs = 10_000;
const drainLimitMs = 15_000;
const program = fileURLToPath(new URL("./worker.js", import.meta.url));

interface Running {
  readonly member: Member;
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

/** The worker processes. They never outlive this one: when the channel between them closes, a worker drains and ends. */
export class Fleet {
  readonly #url: string;
  readonly #journal: Journal;
  readonly #running = new Map<string, Running>();
  #gone: readonly Member[] = [];
  #retries = 0;
  #takenOver = 0;
  onStart: (workerId: string, start: Start) => void = () => {};
  /** A process was killed or crashed. */
  onLost: (member: Member, how: string) => void = () => {};

  constructor(url: string, journal: Journal) {
    this.#url = url;
    this.#journal = journal;
  }

  get retries(): number {
    return this.#retries;
  }

  /** Jobs that were begun once more because their worker was lost. */
  get takenOver(): number {
    return this.#takenOver;
  }

  /** Those that run, and those that ended a moment ago, by id. */
  get members(): readonly Member[] {
    const sinceMs = Date.now() - goneShownMs;
    this.#gone = this.#gone.filter(({ id, goneAtMs }) => (goneAtMs ?? 0) > sinceMs && !this.#running.has(id));
    const all = [...[...this.#running.values()].map(({ member }) => member), ...this.#gone];
    return all.sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  /** Starts a process under the first free id. Who comes back under an id gets a higher generation. */
  add(): void {
    const ids = Array.from({ length: membersMax }, (_, i) => `worker-${i + 1}`);
    const id = ids.find((one) => !this.#running.has(one));
    if (id === undefined) {
      this.#journal.add("plain", `${membersMax} workers are enough for a demo`);
      return;
    }
    const child = fork(program, {
      env: {
        ...process.env,
        DATABASE_URL: this.#url,
        LEASEHOLD_SCHEMA: leaseholdSchema,
        WORKER_ID: id,
      },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    const member = new Member(id, child.pid ?? 0);
    child.on("message", (message) => this.#hear(member, message as FromWorker));
    child.on("error", (error) => member.complain(error.message));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => member.complain(text));
    const ended = new Promise<void>((resolve) => {
      child.once("close", (code) => {
        this.#end(member, code);
        resolve();
      });
    });
    this.#running.set(id, { member, child, ended });
  }

  /** Kills the worker that has most in its hands, as the out-of-memory killer would. */
  kill(): void {
    const victim = this.#working().sort((left, right) => right.member.inHand - left.member.inHand)[0];
    if (victim === undefined) return;
    victim.child.kill("SIGKILL");
    victim.member.state = "killed";
    this.onLost(victim.member, "kill -9");
  }

  /** Tells the newest worker to finish what it runs, give back the rest, and leave. */
  drainOne(): void {
    const last = this.#working().at(-1);
    if (last === undefined) return;
    last.member.state = "draining";
    tellToDrain(last.child);
    this.#journal.add("plain", `${last.member.id} drains: it finishes ${last.member.running} running jobs`);
  }

  /** Drains all of them. Who does not come to an end in time is killed: its jobs wait in the database. */
  async stop(): Promise<void> {
    const all = [...this.#running.values()];
    for (const { child } of all) tellToDrain(child);
    const late = new AbortController();
    const limit = sleep(drainLimitMs, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([Promise.all(all.map(({ ended }) => ended)), limit]);
    late.abort();
    for (const { child } of this.#running.values()) child.kill("SIGKILL");
    await Promise.all(all.map(({ ended }) => ended));
  }

  #working(): Running[] {
    return [...this.#running.values()].filter(({ member }) => member.state === "working");
  }

  #hear(member: Member, message: FromWorker): void {
    if (message.is === "news") {
      this.#journal.tell(message);
      return;
    }
    const wasStarting = member.state === "starting";
    member.hear(message);
    this.#retries += message.retries;
    this.#takenOver += message.takenOver;
    for (const start of message.starts) this.onStart(member.id, start);
    if (wasStarting && member.state === "working") {
      this.#journal.add("good", `${member.id} joined: pid ${member.pid}, generation ${member.generation}`);
    }
  }

  #end(member: Member, code: number | null): void {
    this.#running.delete(member.id);
    this.#gone = [...this.#gone, member];
    if (code === 0) this.#journal.add("good", `${member.id} left in good order`);
    else if (member.state !== "killed") this.onLost(member, member.complaint || "killed from outside:");
    member.end(code === 0 ? "left" : "gone");
  }
}

function tellToDrain(child: ChildProcess): void {
  if (child.connected) child.send(drain, () => {});
}
