import type { Dice } from "../dice.js";

/** Something that happens at its time, unless it is taken back before. */
export interface Appointment {
  cancel(): void;
}

interface Due {
  readonly atMs: number;
  /** Among those of the same time the dice decide. */
  readonly tie: number;
  readonly happen: () => void | Promise<void>;
  isCancelled: boolean;
}

/**
 * Virtual time: it stands still while anything happens, and jumps to whatever is due next. One thing happens at a time, and everything that follows from it in this process
 * has happened before the next does.
 */
export class Schedule {
  readonly #dice: Dice;
  #heap: Due[] = [];
  #nowMs = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, happen: () => void | Promise<void>): Appointment {
    const due: Due = {
      atMs: this.#nowMs + Math.max(0, ms),
      tie: this.#dice.fraction(),
      happen,
      isCancelled: false,
    };
    push(this.#heap, due);
    return {
      cancel: () => {
        due.isCancelled = true;
      },
    };
  }

  /** Lets the next thing happen. False when nothing is due ever again. */
  async step(): Promise<boolean> {
    for (let due = pop(this.#heap); due !== undefined; due = pop(this.#heap)) {
      if (due.isCancelled) continue;
      this.#nowMs = due.atMs;
      await due.happen();
      await settled();
      return true;
    }
    return false;
  }

  /** Nothing that is still due happens any more. */
  clear(): void {
    this.#heap = [];
  }
}

/** All promises that could go on have gone on: a tick comes after the last of them, and before anything that arrives from outside. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

function isBefore(a: Due, b: Due): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
}

function push(heap: Due[], due: Due): void {
  let at = heap.push(due) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const above = heap[up];
    if (above === undefined || !isBefore(due, above)) break;
    heap[at] = above;
    at = up;
  }
  heap[at] = due;
}

function pop(heap: Due[]): Due | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    const isRight = right !== undefined && left !== undefined && isBefore(right, left);
    const child = isRight ? right : left;
    if (child === undefined || !isBefore(child, last)) break;
    heap[at] = child;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = last;
  return first;
}
