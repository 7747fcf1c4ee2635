/** What a worker process tells the example, over the channel between them. Tokens travel as text. */
export interface FromWorker {
  readonly is: "began" | "ended";
  readonly tenant: string;
  readonly token: string;
  readonly atMs: number;
}

/** By a clock that all processes of a machine share and nobody sets. */
export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
