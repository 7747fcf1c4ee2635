import { reportEveryMs, type WorkerReport } from "./messages.js";

/** `silent`: it has not reported for a while. `gone`: it ended without leaving; `killed` is what that is called when it was our doing. */
export type MemberState = "starting" | "working" | "silent" | "draining" | "left" | "killed" | "gone";

const silentAfterMs = 2_000;

const rateReports = 8;

/** A worker process as the demo sees it: by its reports, and by how it ended. */
export class Member {
  readonly id: string;
  readonly pid: number;
  #state: MemberState = "starting";
  generation = 0;
  running = 0;
  inHand = 0;
  done = 0;
  goneAtMs: number | null = null;
  /** What it wrote to its error stream last. */
  complaint = "";
  #heardAtMs = Date.now();
  #recent: number[] = [];

  constructor(id: string, pid: number) {
    this.id = id;
    this.pid = pid;
  }

  get state(): MemberState {
    const isSilent = this.#state === "working" && Date.now() - this.#heardAtMs > silentAfterMs;
    return isSilent ? "silent" : this.#state;
  }

  set state(state: MemberState) {
    this.#state = state;
  }

  get jobsPerSecond(): number {
    if (this.#recent.length === 0) return 0;
    const done = this.#recent.reduce((sum, one) => sum + one, 0);
    return (done * 1_000) / (this.#recent.length * reportEveryMs);
  }

  hear(report: WorkerReport): void {
    this.#heardAtMs = Date.now();
    const isOurDoing = this.state === "draining" || this.state === "killed";
    if (!isOurDoing && (report.state === "working" || report.state === "draining")) this.state = report.state;
    this.generation = report.generation;
    this.running = report.running;
    this.inHand = report.inHand;
    this.done += report.done;
    this.#recent.push(report.done);
    if (this.#recent.length > rateReports) this.#recent.shift();
  }

  complain(text: string): void {
    const lines = text.split("\n").filter((line) => /\S/.test(line));
    this.complaint = (lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? this.complaint).trim();
  }

  end(state: "left" | "gone"): void {
    if (this.state !== "killed") this.state = state;
    this.goneAtMs = Date.now();
    this.running = 0;
    this.inHand = 0;
    this.#recent = [];
  }
}
