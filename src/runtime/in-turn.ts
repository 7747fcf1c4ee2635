/** Runs what it is given one after another, in the order in which it was given; one that fails does not hold up the next. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return await mine;
  }
}
