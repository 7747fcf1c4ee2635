import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type {
  EventMap,
  EventName,
  Handlers,
  Leasehold,
  Worker,
  WorkerOptions,
  WorkingJob,
} from "../../src/index.js";
import type { World } from "../support/world.js";

type AnyHandlers = Handlers<Record<string, unknown>>;

/** A started worker that leaves signals alone and is quick to give up at the end of a test. */
export async function startWorker(
  lh: Leasehold,
  handlers: AnyHandlers,
  options: WorkerOptions & { readonly queue?: string } = {},
): Promise<Worker> {
  const { queue = "inbox", ...rest } = options;
  const worker = lh.worker(queue, handlers, {
    handlesSignals: false,
    drainLimitMs: 3_000,
    abortGraceMs: 1_000,
    ...rest,
  });
  await worker.start();
  return worker;
}

/** How long a test waits for what has to come, however slow the machine is. No limit here says how soon something should happen. */
const patienceMs = 50_000;

/** Looks until it is so, and fails with `what` when it is not for too long. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs: number = patienceMs,
): Promise<void> {
  const lateAtMs = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > lateAtMs) throw new Error(`Not so after ${limitMs} ms: ${what}`);
    await sleep(10);
  }
}

/** The events of a name so far. */
export function heard<N extends EventName>(of: Pick<Leasehold, "on">, name: N): EventMap[N][] {
  const events: EventMap[N][] = [];
  of.on(name, (event) => events.push(event));
  return events;
}

interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

/** Holds handlers until it is opened, at the latest at the end of the test. */
export function gate(): Gate {
  let open: () => void = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  onTestFinished(open);
  return { passed, open };
}

/** Resolves after ms, or rejects as soon as the job's signal aborts. */
export async function politely(job: WorkingJob, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: job.signal });
}

/** How many rows of inbox are in this status. */
export async function countOf(world: World, status: string): Promise<number> {
  const [row] = await world.sql<{ n: number }>(
    "select count(*)::int as n from leasehold.inbox where status = $1",
    [status],
  );
  return row?.n ?? 0;
}
