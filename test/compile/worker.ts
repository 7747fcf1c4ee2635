/**
 * What must compile, and what must not, for lh.worker(). `npm run check` compiles this file; nothing runs it. A line under @ts-expect-error that compiles is an error too.
 */
import type { Handlers, Leasehold, Queue, WorkerOptions, WorkingJob } from "../../src/index.js";

interface Jobs {
  "receipt.send": { readonly order: number };
  "refund.pay": { readonly order: number; readonly cents: number };
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_proof: Same<A, B>): void => {};

export function untyped(lh: Leasehold, queue: Queue, options: WorkerOptions): void {
  lh.worker("inbox", { x: async (_job) => {} });
  lh.worker("inbox", { x: () => {} });
  lh.worker("inbox", { x: async (job) => same<typeof job, WorkingJob<string, unknown>>(true) });
  lh.worker("inbox", { x: async () => {}, y: { handle: async (_job) => {}, timeoutMs: 5 } }, options);
  lh.worker(queue, { x: async (_job) => {} });
  lh.worker(queue, { x: async (job) => same<typeof job.payload, unknown>(true) }, { concurrency: 2 });
  const handlers = { x: async (_job: WorkingJob): Promise<void> => {} };
  lh.worker("inbox", handlers);
  // @ts-expect-error a handler is a function or has one
  lh.worker("inbox", { x: 5 });
  // @ts-expect-error nor is an option of another name
  lh.worker("inbox", { x: () => {} }, { concurency: 2 });
}

export function typed(lh: Leasehold, queue: Queue<Jobs>): void {
  lh.worker(queue, {
    "receipt.send": async (job) => same<typeof job, WorkingJob<"receipt.send", Jobs["receipt.send"]>>(true),
    "refund.pay": { handle: (job) => same<typeof job.payload.cents, number>(true), attemptsMax: 3 },
  });
  // A subset of the kinds.
  lh.worker(queue, { "refund.pay": async (job) => same<typeof job.payload, Jobs["refund.pay"]>(true) });
  lh.worker<Jobs>("inbox", { "refund.pay": async (job) => same<typeof job.kind, "refund.pay">(true) });
  const handlers: Handlers<Jobs> = {
    "refund.pay": async (job) => same<typeof job.payload.cents, number>(true),
  };
  lh.worker(queue, handlers);
  // @ts-expect-error the queue has no such kind
  lh.worker(queue, { "refund.pya": async () => {} });
  // @ts-expect-error the queue has no such kind
  lh.worker(queue, { "refund.pay": async () => {}, other: async () => {} });
  // @ts-expect-error the payload has no such field
  lh.worker(queue, { "receipt.send": async (job) => job.payload.cents });
  // @ts-expect-error the handler wants another payload
  lh.worker(queue, { "receipt.send": async (_job: WorkingJob<"receipt.send", { name: string }>) => {} });
}

export function patterns(
  lh: Leasehold,
  queue: Queue<Record<`mail.${string}`, { readonly to: string }>>,
): void {
  lh.worker(queue, { "mail.send": async (job) => same<typeof job.payload.to, string>(true) });
  // @ts-expect-error a kind of this queue begins with mail.
  lh.worker(queue, { "post.send": async () => {} });
}
