import { type FromWorker, nowMs } from "./messages.js";

/** A tenant ran on a worker from then until then; null while it does. */
interface Span {
  readonly tenant: string;
  readonly worker: string;
  readonly token: bigint;
  readonly fromMs: number;
  toMs: number | null;
}

/** Writes down where each tenant really ran, by what the processes say and not by rows, and finds what must not be. */
export class Witness {
  readonly #spans = new Map<string, Span[]>();
  #changedAtMs = nowMs();

  constructor(tenants: readonly string[]) {
    for (const tenant of tenants) this.#spans.set(tenant, []);
  }

  /** When a tenant last began or ended anywhere. */
  get changedAtMs(): number {
    return this.#changedAtMs;
  }

  /** Tenants that run, with their workers. One that runs twice is named under either. */
  get owners(): ReadonlyMap<string, string> {
    return new Map([...this.#running()].map(({ tenant, worker }) => [tenant, worker]));
  }

  hear(worker: string, { is, tenant, token, atMs }: FromWorker): void {
    this.#changedAtMs = atMs;
    const spans = this.#spans.get(tenant) ?? [];
    this.#spans.set(tenant, spans);
    if (is === "began") {
      spans.push({ tenant, worker, token: BigInt(token), fromMs: atMs, toMs: null });
      return;
    }
    const span = spans.find((one) => one.worker === worker && one.token === BigInt(token));
    if (span !== undefined) span.toMs ??= atMs;
  }

  /** Nothing runs on this worker any more. */
  gone(worker: string, atMs: number): void {
    for (const span of this.#running()) if (span.worker === worker) span.toMs = atMs;
  }

  /** Where a tenant began last. */
  beganAtMs(tenant: string): number {
    return Math.max(...(this.#spans.get(tenant) ?? []).map(({ fromMs }) => fromMs), Number.NEGATIVE_INFINITY);
  }

  lastBeganMs(): number {
    return Math.max(...[...this.#spans.keys()].map((tenant) => this.beganAtMs(tenant)));
  }

  /** The longest that a tenant which began since then had not been running before. */
  longestPauseMs(sinceMs: number): number {
    let longest = 0;
    for (const spans of this.#spans.values())
      for (const { fromMs } of spans.filter((span) => span.fromMs >= sinceMs)) {
        const ends = spans.map(({ toMs }) => toMs).filter((toMs) => toMs !== null && toMs <= fromMs);
        if (ends.length > 0) longest = Math.max(longest, fromMs - Math.max(...ends.map(Number)));
      }
    return longest;
  }

  /** What is wrong with where tenants ran, in sentences. `rows` are the running ones of tenant_leases. */
  breaches(rows: ReadonlyMap<string, { readonly owner: string; readonly token: bigint }>): readonly string[] {
    const found: string[] = [];
    for (const [tenant, spans] of this.#spans) {
      const open = spans.filter(({ toMs }) => toMs === null);
      if (open.length !== 1) found.push(`${tenant} runs ${open.length} times.`);
      const row = rows.get(tenant);
      const [span] = open;
      if (span !== undefined && (row?.owner !== span.worker || row.token !== span.token))
        found.push(
          `${tenant} runs on ${span.worker} under token ${span.token}, and its row says ${row?.owner}.`,
        );
      found.push(...successionBreaches(spans));
    }
    return found;
  }

  *#running(): Generator<Span> {
    for (const spans of this.#spans.values()) for (const span of spans) if (span.toMs === null) yield span;
  }
}

/** Each run of a tenant begins after the one before has ended, under a higher token. */
function successionBreaches(spans: readonly Span[]): readonly string[] {
  const inOrder = [...spans].sort((one, other) => one.fromMs - other.fromMs);
  return inOrder.slice(1).flatMap((span, i) => {
    const before = inOrder[i];
    if (before === undefined) return [];
    const { tenant, worker, token } = span;
    const found: string[] = [];
    if (before.toMs === null || before.toMs > span.fromMs)
      found.push(`${tenant} began on ${worker} before it had ended on ${before.worker}.`);
    if (before.token >= token)
      found.push(`${tenant} got token ${token} on ${worker} after ${before.token} on ${before.worker}.`);
    return found;
  });
}
