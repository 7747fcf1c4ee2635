/**
 * What must compile, and what must not, for options, queues and transactions. `npm run check` compiles this file; nothing runs it.
 */
import type pg from "pg";
import {
  type AnyQueue,
  type ConnectOptions,
  connect,
  type EnqueueOptions,
  type Leasehold,
  type OpenTx,
  type Queue,
  type QueueOptions,
  type Tx,
  type WorkerOptions,
} from "../../src/index.js";

interface Jobs {
  "receipt.send": { readonly order: number };
  "refund.pay": { readonly order: number; readonly cents: number };
}

/** Options that may be undefined, as users compute them. */
export async function maybe(
  lh: Leasehold,
  queue: Queue,
  key: string | undefined,
  n: number | undefined,
): Promise<void> {
  const at: Date | undefined = undefined;
  const enqueue: EnqueueOptions = {
    partitionKey: key,
    idempotencyKey: key,
    delayMs: n,
    availableAt: at,
    headers: undefined,
  };
  await queue.enqueue("k", 1, { ...enqueue, priority: n, maxAttempts: n, tx: undefined, wake: undefined });
  await queue.enqueueMany([{ kind: "k", payload: 1, partitionKey: key }], { tx: undefined });
  await queue.claim({ workerId: "w", limit: n, leaseMs: n, kinds: undefined });
  await queue.list({ kind: key, before: key, status: undefined });
  await queue.retry({ ids: undefined, limit: n });
  const connected: ConnectOptions = {
    url: key,
    schema: key,
    pool: undefined,
    logger: undefined,
    workerId: key,
    region: key,
  };
  const open: QueueOptions = { order: undefined, maxAttempts: n, kinds: undefined };
  const work: WorkerOptions = { concurrency: n, middleware: undefined };
  await connect(connected);
  await lh.queue("inbox", open);
  lh.worker("inbox", { k: { handle: () => {}, timeoutMs: n, retryDelayMs: undefined } }, work);
}

/** A pool of pg fits, whatever its types are; other things do not. */
export async function pools(pool: pg.Pool, client: pg.Client): Promise<void> {
  await connect({ pool });
  // @ts-expect-error a client is no pool
  await connect({ pool: client });
  // @ts-expect-error a URL is no object of options
  await connect("postgres://localhost/shop");
}

declare function anyQueue(queue: AnyQueue): void;
declare function ownQueue<J extends object>(queue: Queue<J>): void;
declare function moneyQueue(queue: Queue<Pick<Jobs, "refund.pay">>): void;

/** A typed queue fits where any queue is asked for: as one that can be inspected, or by its own type. */
export function queues(typed: Queue<Jobs>, aliased: Queue<{ a: number }>): void {
  anyQueue(typed);
  anyQueue(aliased);
  ownQueue(typed);
  // @ts-expect-error no such kind
  void typed.enqueue("refund.pya", { order: 1, cents: 1 });
  // @ts-expect-error no such payload
  void typed.enqueue("refund.pay", { order: 1 });
  // @ts-expect-error it lacks the kind
  moneyQueue(aliased);
}

/** Rows can be used. */
export async function rows(lh: Leasehold, client: pg.Client): Promise<number> {
  await lh.transaction(async (tx: Tx) => void (await tx.query("select 1")));
  const wrapped: Tx = { query: async () => ({ rows: [] as unknown[] }) };
  await lh.once(wrapped, "h", "m");
  await lh.once(client, "h", "m");
  const taken = async (tx: OpenTx): Promise<number> => {
    const { rows: found } = await tx.query<{ readonly n: number }>("select 1 as n");
    const { rows: loose } = await tx.query("select 1 as n");
    return (found[0]?.n ?? 0) + Number(loose[0]?.n);
  };
  return await lh.transaction(taken);
}
