import type { EntryOf } from "../entries.js";

/**
 * A call that goes badly is something that happened to a process, and no reason not to be well. A worker whose settles or renewals fail keeps its buckets until it has noticed, which takes rows; one whose claims fail is not
 * well, and has to give them up.
 */
const passing: readonly string[] = ["bad weather", "settles fail", "completions fail", "renewals fail"];

/** Who is well, as the faults are read one after another. A fault of "*" hits everybody. */
export class FaultsOf {
  readonly #faults = new Map<string, Set<string>>();
  readonly #gone = new Set<string>();
  readonly #lastAtMs = new Map<string, number>();

  apply({ process, what, state, atMs }: EntryOf<"fault">): void {
    const open = this.#faults.get(process) ?? new Set<string>();
    this.#faults.set(process, open);
    if (state === "ok") open.delete(what);
    else open.add(what);
    if (state === "gone") this.#gone.add(process);
    this.#lastAtMs.set(process, atMs);
  }

  isWell(process: string): boolean {
    return this.#open(process, passing) === 0 && this.#open("*", passing) === 0;
  }

  /** Nothing is wrong with anybody who is not gone, not even with a call. */
  get isEverybodyWell(): boolean {
    return [...this.#faults].every(([process, open]) => open.size === 0 || this.#gone.has(process));
  }

  /** True when something was wrong with it, or with all, at that time or after it. */
  wasHitSince(process: string, sinceMs: number): boolean {
    const isHit = this.#open(process, []) + this.#open("*", []) > 0;
    return isHit || this.#at(process) >= sinceMs || this.#at("*") >= sinceMs;
  }

  #open(process: string, except: readonly string[]): number {
    const faults = [...(this.#faults.get(process) ?? [])];
    return faults.filter((what) => !except.includes(what)).length;
  }

  #at(process: string): number {
    return this.#lastAtMs.get(process) ?? Number.NEGATIVE_INFINITY;
  }
}
