/** A job as every system gets it. Jobs are numbered in the order in which they are enqueued. */
export interface BenchJob {
  readonly n: number;
  /** Null where order plays no part. */
  readonly key: string | null;
  readonly payload: Payload;
  readonly delayMs?: number;
}

export interface Payload {
  readonly n: number;
  readonly text: string;
}

/**
 * How jobs are spread over keys. "spread": in turn over so many keys. "hot": every second job is on one key, the rest as in "spread".
 * "one": all on one key.
 */
export type Keys =
  | { readonly are: "none" }
  | { readonly are: "spread" | "hot"; readonly count: number }
  | { readonly are: "one" };

const payloadBytes = 250;
const emptyBytes = JSON.stringify({ n: 0, text: "" }).length - 1;
const filler = "leasehold ".repeat(payloadBytes / 10);

export function benchJob(n: number, keys: Keys): BenchJob {
  const at = keyOf(n, keys);
  return { n, key: at === null ? null : `key:${at}`, payload: payloadOf(n) };
}

/** A JSON object whose text is 250 bytes long, whatever the number. */
export function payloadOf(n: number): Payload {
  return { n, text: filler.slice(0, payloadBytes - emptyBytes - String(n).length) };
}

/** The number of a job's key; 0 is the hot one where there is one. Null without keys. */
export function keyOf(n: number, keys: Keys): number | null {
  if (keys.are === "none") return null;
  if (keys.are === "one") return 0;
  if (keys.are === "spread") return n % keys.count;
  return n % 2 === 0 ? 0 : 1 + (((n - 1) / 2) % (keys.count - 1));
}
