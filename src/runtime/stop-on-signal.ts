import type { ProcessSignals } from "../seams/process-signals.js";

const exitClean = 0;
const exitNow = 1;

/** The first signal drains everything and ends the process with 0; the second ends it at once. */
export class StopOnSignal {
  readonly #signals: ProcessSignals;
  readonly #stop: (signal: string) => Promise<void>;
  #heeding = 0;
  #isStopping = false;
  #ignore: () => void = () => {};

  constructor(signals: ProcessSignals, stop: (signal: string) => Promise<void>) {
    this.#signals = signals;
    this.#stop = stop;
  }

  /** Heeds signals for one more; returns what takes that back. */
  heed(): () => void {
    if (this.#heeding++ === 0) this.#ignore = this.#signals.onStop((signal) => this.#onSignal(signal));
    return () => {
      if (--this.#heeding === 0 && !this.#isStopping) this.#ignore();
    };
  }

  #onSignal(signal: string): void {
    if (this.#isStopping) {
      this.#signals.exit(exitNow);
      return;
    }
    this.#isStopping = true;
    void this.#stop(signal).then(
      () => this.#signals.exit(exitClean),
      () => this.#signals.exit(exitNow),
    );
  }
}
