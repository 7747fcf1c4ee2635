import pg from "pg";
import type { Cell } from "../cell.js";
import type { BenchChild } from "../child-process.js";
import { faultsOf, type WorkLog } from "../faults.js";
import type { Keys } from "../job.js";
import type { Store } from "../stores/store.js";
import { until } from "../wait.js";
import { fillBacklog, keysFor } from "./backlog.js";
import type { Outcome, Workload } from "./workload.js";

const backlogMax = 20_000;
const before = 10_000;
const drainLimitMs = 30_000;

export const heldSnapshot: Workload = {
  id: "B7",
  title: "Steady flow under a held snapshot",
  about:
    "For 60 s a producer process enqueues by 1 000 while a worker process drains, with 5 000 to 20 000 jobs in between; another connection holds a snapshot, so that no dead row can be removed. The rate of seconds 50 to 60 beside that of seconds 2 to 12.",
  figures: [
    { key: "share", label: "last 10 s over first 10 s", unit: "", better: "more", digits: 2 },
    { key: "first", label: "first 10 s", unit: "jobs/s", better: "more" },
    { key: "last", label: "last 10 s", unit: "jobs/s", better: "more", isInSummary: true },
  ],
  expectedSeconds: 75,
  run: async (cell) => {
    const keys = keysFor(cell);
    const { store, filler } = await fillBacklog(cell, before, keys);
    const holder = await holdSnapshot(store);
    try {
      return await flow(cell, { store, producer: filler, keys });
    } finally {
      await holder.end().catch(() => {});
    }
  },
};

async function holdSnapshot(store: Store): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: store.url });
  // It is cut off when its database is dropped.
  client.on("error", () => {});
  await client.connect();
  await client.query("begin isolation level repeatable read");
  await client.query("select 1 from pg_class limit 1");
  return client;
}

async function flow(
  cell: Cell,
  { store, producer, keys }: { readonly store: Store; readonly producer: BenchChild; readonly keys: Keys },
): Promise<Outcome> {
  const second = cell.scaled(1_000);
  const worker = await cell.spawn(store);
  worker.tellProgressTo(producer);
  await worker.ask("work", { keys });
  const total = await producer.ask("produce", {
    first: before,
    keys,
    // With keys the calls must commit in the order of the numbers.
    inFlight: keys.are === "none" ? 2 : 1,
    forMs: 61 * second,
    backlogMax,
  });
  const isDrained = await until(() => worker.handled >= total, { limitMs: drainLimitMs });
  const log = await worker.ask("workLog", null);
  const first = rateBetween(log, 2 * second, 12 * second);
  const last = rateBetween(log, 50 * second, 60 * second);
  return {
    figures: { share: last / first, first, last },
    faults: faultsOf([log], keys, isDrained ? total : null),
    ...(isDrained ? {} : { note: "it did not empty the queue afterwards" }),
  };
}

/** Jobs a second between two times, counted from the first start. */
function rateBetween({ startedMs }: WorkLog, fromMs: number, toMs: number): number {
  const zero = startedMs[0] ?? 0;
  const count = startedMs.filter((ms) => ms - zero >= fromMs && ms - zero < toMs).length;
  return (count / (toMs - fromMs)) * 1_000;
}
