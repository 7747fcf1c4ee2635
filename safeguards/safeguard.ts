/** Something that keeps a promise, how to take it out, and what must notice. */
export interface Safeguard {
  readonly name: string;
  readonly file: string;
  /** This text, which is in the file once ... */
  readonly from: string;
  /** ... becomes this. */
  readonly to: string;
  /** Tests that must fail without it, or the number of seeds of the simulation among which one must. */
  readonly caughtBy: { readonly tests: readonly string[] } | { readonly seeds: number };
}
