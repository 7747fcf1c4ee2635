/** Something that is done again and again. One pass is one call, so tests and the simulation can make it themselves. */
export interface Activity {
  readonly name: string;
  /** The longest wait after a pass that failed, where that is less than for other activities. */
  readonly backoffMsMax?: number;
  /** Does one pass and says in how many milliseconds the next one is due; Infinity waits for a wake. */
  run(): Promise<number>;
}
