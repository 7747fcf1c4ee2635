import type { Spent } from "../acts/act.js";
import type { Cell } from "../cell.js";
import type { BenchChild } from "../child-process.js";
import { faultsOf, type WorkLog } from "../faults.js";
import type { Keys } from "../job.js";
import type { Store } from "../stores/store.js";
import { until } from "../wait.js";
import type { Outcome } from "./workload.js";

const emptyLimitMs = 30_000;
const firstLimitMs = 30_000;

export const keyCount = 1_000;

/** Keys for a variant that keeps order, none for others. */
export function keysFor(cell: Cell): Keys {
  return cell.variant.order === "key" ? { are: "spread", count: keyCount } : { are: "none" };
}

export interface Backlog {
  readonly count: number;
  readonly keys: Keys;
  readonly store: Store;
  /** The process that filled it. It has no worker, and is there to look what is left. */
  readonly filler: BenchChild;
  readonly spent: Spent;
}

/** A fresh store with so many jobs in it, at rest. With keys one call is in flight at a time, so that jobs are in the order of their numbers. */
export async function fillBacklog(cell: Cell, count: number, keys: Keys): Promise<Backlog> {
  const store = await cell.openStore();
  const filler = await cell.spawn(store);
  await filler.ask("setup", null);
  const spent = await filler.ask("fill", { count, keys, inFlight: keys.are === "none" ? 2 : 1 });
  await store.settle();
  return { count, keys, store, filler, spent };
}

interface Drained {
  readonly logs: readonly (WorkLog & { readonly cpuMs: number })[];
  readonly handled: number;
  /** From the start of the first handler to when nothing was left, or to the limit. */
  readonly ms: number;
  readonly isFinished: boolean;
}

/** Works it off with so many processes. The clock stops when the system's own table holds no unfinished job. */
export async function drain(
  cell: Cell,
  backlog: Backlog,
  { processes, limitMs }: { readonly processes: number; readonly limitMs: number },
): Promise<Drained> {
  const { count, keys, store, filler } = backlog;
  const workers = await Promise.all(Array.from({ length: processes }, () => cell.spawn(store)));
  await Promise.all(workers.map((worker) => worker.ask("work", { keys })));
  const handled = (): number => workers.reduce((sum, worker) => sum + worker.handled, 0);
  if (!(await until(() => handled() > 0, { limitMs: firstLimitMs }))) throw new Error("No job was handled.");
  const isHandled = await until(() => handled() >= count, { limitMs });
  const emptyMs = isHandled ? await filler.ask("untilEmpty", { limitMs: emptyLimitMs }) : null;
  const logs = await Promise.all(workers.map((worker) => worker.ask("workLog", null)));
  const firstMs = Math.min(...logs.map((log) => log.startedMs[0] ?? Number.POSITIVE_INFINITY));
  if (isHandled && emptyMs === null)
    throw new Error("Every job was handled, but unfinished ones are left in the table.");
  const done = logs.reduce((sum, log) => sum + log.numbers.length, 0);
  const lastMs = Math.max(...logs.map((log) => log.startedMs.at(-1) ?? 0));
  return { logs, handled: done, ms: (emptyMs ?? lastMs) - firstMs, isFinished: isHandled };
}

/** The rate, what went wrong, and a note if it was broken off. */
export function outcomeOf({ count, keys }: Backlog, drained: Drained): Outcome {
  const { logs, handled, ms, isFinished } = drained;
  const faults = faultsOf(logs, keys, isFinished ? count : null);
  const figures = { perSecond: (handled / ms) * 1_000 };
  if (isFinished) return { figures, faults };
  const note = `broken off after ${Math.round(ms / 1_000)} s with ${handled} of ${count} jobs done`;
  return { figures, faults, note };
}
