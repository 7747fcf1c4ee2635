/**
 * The promise of a job.transaction in a handler. It knows whether anything waits for it: a subclass, because `await` calls then() of these only. Its rejection is
 * always handled here, so a forgotten await does not end the process; the attempt fails with it instead.
 */
export class JobTransaction<T> extends Promise<T> {
  #isAwaited = false;
  #failure: { readonly error: unknown } | null = null;
  #ended: Promise<void> | null = null;
  #isOpen = true;

  /** What then() makes is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of<R>(run: Promise<R>): JobTransaction<R> {
    const made = new JobTransaction<R>((resolve, reject) => void run.then(resolve, reject));
    made.#ended = Promise.prototype.then.call(
      made,
      () => made.#end(null),
      (error: unknown) => made.#end({ error }),
    ) as Promise<void>;
    return made;
  }

  /** True while it is open, and for one that nothing has ever waited for. */
  get isLoose(): boolean {
    return this.#isOpen || !this.#isAwaited;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Null when it has committed. */
  get failure(): { readonly error: unknown } | null {
    return this.#failure;
  }

  /** Never rejects. */
  async untilEnded(): Promise<void> {
    await this.#ended;
  }

  // biome-ignore lint/suspicious/noThenProperty: this override is how it knows that something waits.
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true;
    return super.then(onFulfilled, onRejected);
  }

  #end(failure: { readonly error: unknown } | null): void {
    this.#isOpen = false;
    this.#failure = failure;
  }
}
