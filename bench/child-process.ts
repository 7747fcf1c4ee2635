import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Acts } from "./acts/act.js";
import type { FromChild, FromParent } from "./message.js";
import type { SystemKind, Variant } from "./systems/system.js";

const program = fileURLToPath(new URL("child.js", import.meta.url));
const keptOutput = 2_000;

type Input<A extends keyof Acts> = Parameters<Acts[A]>[1];
type Output<A extends keyof Acts> = Awaited<ReturnType<Acts[A]>>;

interface Waiting {
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** A process of its own with one system open in it. */
export class BenchChild {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #nextId = 0;
  #handled = 0;
  #follower: BenchChild | null = null;
  #failure: Error | null = null;
  #lastOutput = "";

  constructor() {
    this.#process = fork(program, { serialization: "advanced", stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#lastOutput = (this.#lastOutput + text).slice(-keptOutput);
    });
    this.#process.on("message", (message) => this.#hear(message as FromChild));
    this.#process.on("error", (error) => this.#fail(error));
    this.#ended = new Promise((resolve) => {
      this.#process.once("exit", (code, signal) => {
        this.#fail(new Error(`The process ended (${signal ?? code}). ${this.#lastOutput}`.trim()));
        resolve();
      });
    });
  }

  /** Jobs handled there, as far as it has told. Throws once the process has ended, so that nobody waits in vain. */
  get handled(): number {
    if (this.#failure !== null) throw this.#failure;
    return this.#handled;
  }

  async open(system: SystemKind, variant: Variant, url: string): Promise<void> {
    await this.#send((id) => ({ is: "open", id, system: system.id, url, variant }));
  }

  async ask<A extends keyof Acts>(act: A, input: Input<A>): Promise<Output<A>> {
    return (await this.#send((id) => ({ is: "do", id, act, input }))) as Output<A>;
  }

  /** From now on the other process is told how many jobs have been handled here. */
  tellProgressTo(other: BenchChild): void {
    this.#follower = other;
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  #send(messageOf: (id: number) => FromParent): Promise<unknown> {
    const id = this.#nextId++;
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send(messageOf(id), (error) => {
        if (error !== null) this.#fail(error);
      });
    });
  }

  #tell(handled: number): void {
    if (this.#failure === null) this.#process.send({ is: "heard", handled } satisfies FromParent, () => {});
  }

  #hear(message: FromChild): void {
    if (message.is === "progress") {
      this.#handled = message.handled;
      if (this.#follower !== null) this.#follower.#tell(message.handled);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.is === "done") waiting?.resolve(message.output);
    else waiting?.reject(new Error(message.error));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
