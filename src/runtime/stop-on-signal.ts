import type { ProcessSignals } from "../seams/process-signals.js";

const exitClean = 0;
const exitNow = 1;

type Stop = (signal: string) => Promise<void>;

/** A process has one set of signals, so all that heed them are stopped together. */
const bySignals = new WeakMap<ProcessSignals, StopOnSignal>();

/** The first signal drains everything and ends the process with 0; the second ends it at once. */
export class StopOnSignal {
  readonly #signals: ProcessSignals;
  readonly #heeding = new Map<object, Stop>();
  #isStopping = false;
  #ignore: () => void = () => {};

  constructor(signals: ProcessSignals) {
    this.#signals = signals;
  }

  static of(signals: ProcessSignals): StopOnSignal {
    const known = bySignals.get(signals) ?? new StopOnSignal(signals);
    bySignals.set(signals, known);
    return known;
  }

  /** Heeds signals for one more; returns what takes that back. */
  heed(stop: Stop): () => void {
    const one = {};
    if (this.#heeding.size === 0) this.#ignore = this.#signals.onStop((signal) => this.#onSignal(signal));
    this.#heeding.set(one, stop);
    return () => {
      this.#heeding.delete(one);
      if (this.#heeding.size === 0 && !this.#isStopping) this.#ignore();
    };
  }

  #onSignal(signal: string): void {
    if (this.#isStopping) {
      this.#signals.exit(exitNow);
      return;
    }
    this.#isStopping = true;
    const stops = [...this.#heeding.values()].map((stop) => stop(signal));
    void Promise.all(stops).then(
      () => this.#signals.exit(exitClean),
      () => this.#signals.exit(exitNow),
    );
  }
}
