import type { WorkingJob } from "./job.js";

/** A call of enqueue() or enqueueMany(). */
export interface EnqueueCall {
  readonly queue: string;
  /** How many jobs it has. */
  readonly jobs: number;
}

/** What a hook makes of a call that begins: headers for its jobs, and what is to be called when it has ended; `error` is null when it succeeded. */
export interface BegunEnqueue {
  readonly headers: Readonly<Record<string, string | number>>;
  end(error: unknown): void;
}

export type EnqueueHook = (call: EnqueueCall) => BegunEnqueue;

/** Runs around every handler, middleware included. It returns or throws what `run` returns or throws, at once when that is no promise. */
export type HandleHook = (job: WorkingJob, run: () => unknown) => unknown;

/** What other entries of the package do around the calls and handlers of a connection. Without any, a job costs one look at an empty list. */
export class Hooks {
  #enqueue: readonly EnqueueHook[] = [];
  #handle: readonly HandleHook[] = [];

  /** Each returns what removes the hook. Those added later are further in. */
  onEnqueue(hook: EnqueueHook): () => void {
    this.#enqueue = [...this.#enqueue, hook];
    return () => {
      this.#enqueue = this.#enqueue.filter((one) => one !== hook);
    };
  }

  onHandle(hook: HandleHook): () => void {
    this.#handle = [...this.#handle, hook];
    return () => {
      this.#handle = this.#handle.filter((one) => one !== hook);
    };
  }

  get hasHandleHooks(): boolean {
    return this.#handle.length > 0;
  }

  /** Null when there is no hook. */
  beginEnqueue(call: EnqueueCall): BegunEnqueue | null {
    if (this.#enqueue.length === 0) return null;
    const begun = this.#enqueue.map((hook) => hook(call));
    return {
      headers: Object.assign({}, ...begun.map(({ headers }) => headers)),
      end: (error) => {
        for (const { end } of begun.toReversed()) end(error);
      },
    };
  }

  aroundHandle(job: WorkingJob, run: () => unknown): unknown {
    const around = this.#handle.reduceRight<() => unknown>((next, hook) => () => hook(job, next), run);
    return around();
  }
}
