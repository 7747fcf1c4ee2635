import type { Cell } from "../cell.js";
import { serverCpuMs } from "../server-cpu.js";
import { onClient } from "../stores/postgres-stores.js";
import type { Store } from "../stores/store.js";
import { type Backlog, drain, keysFor, outcomeOf } from "./backlog.js";
import type { Workload } from "./workload.js";

const limitMs = 60_000;

export const cost: Workload = {
  id: "B12",
  title: "Cost of a job's life",
  about:
    "User and system time of all processes of the database server, its write-ahead log, and the time of our Node process, for one job of 100 000: bulk enqueue by 1 000 with one call in flight, then drain with one process. What is done between the two (vacuum, checkpoint) does not count.",
  figures: [
    { key: "database", label: "database CPU", unit: "us/job", better: "less", digits: 1 },
    { key: "databaseEnqueue", label: "of it enqueue", unit: "us/job", better: "less", digits: 1 },
    { key: "wal", label: "WAL", unit: "bytes/job", better: "less", isInSummary: true },
    { key: "walEnqueue", label: "of it enqueue", unit: "bytes/job", better: "less" },
    { key: "node", label: "Node CPU", unit: "us/job", better: "less", digits: 1, isInSummary: true },
    { key: "nodeEnqueue", label: "of it enqueue", unit: "us/job", better: "less", digits: 1 },
  ],
  expectedSeconds: 15,
  run: async (cell) => {
    const [count, keys] = [cell.scaled(100_000), keysFor(cell)];
    const store = await cell.openStore();
    const filler = await cell.spawn(store);
    await filler.ask("setup", null);
    await store.settle();
    const start = await read(cell, store);
    const spent = await filler.ask("fill", { count, keys, inFlight: 1 });
    const filled = await read(cell, store);
    await store.settle();
    const backlog: Backlog = { count, keys, store, filler, spent };
    const rested = await read(cell, store);
    const drained = await drain(cell, backlog, { processes: 1, limitMs });
    const end = await read(cell, store);
    const { faults, note } = outcomeOf(backlog, drained);
    const nodeMs = drained.logs.reduce((sum, log) => sum + log.cpuMs, spent.cpuMs);
    const a = { cpuMs: filled.cpuMs - start.cpuMs, wal: filled.wal - start.wal };
    const b = { cpuMs: end.cpuMs - rested.cpuMs, wal: end.wal - rested.wal };
    return {
      figures: {
        database: ((a.cpuMs + b.cpuMs) * 1_000) / count,
        databaseEnqueue: (a.cpuMs * 1_000) / count,
        wal: (a.wal + b.wal) / count,
        walEnqueue: a.wal / count,
        node: (nodeMs * 1_000) / count,
        nodeEnqueue: (spent.cpuMs * 1_000) / count,
      },
      faults,
      ...(note === undefined ? {} : { note }),
    };
  },
};

async function read(cell: Cell, store: Store): Promise<{ readonly cpuMs: number; readonly wal: number }> {
  const wal = await onClient(store.url, async (client) => {
    const { rows } = await client.query<{ at: string }>("select pg_current_wal_lsn() - '0/0' as at");
    return Number(rows[0]?.at);
  });
  return { cpuMs: serverCpuMs(cell.stores.postgres.server.pid) ?? Number.NaN, wal };
}
