import { onTestFinished } from "vitest";
import { type ClaimedJob, complete, type Queue, type QueueOptions, type Tx } from "../../src/index.js";
import { settableClock, setup, type World } from "./world.js";

/** The queue of a world, opened on so many connections of their own, as so many processes would have it. */
export async function openQueues(
  world: World,
  count: number,
  options: QueueOptions = { order: "key" },
): Promise<readonly Queue[]> {
  await world.queue("inbox", options);
  const connections = await Promise.all(Array.from({ length: count }, () => world.connect()));
  return await Promise.all(connections.map((lh) => lh.queue("inbox")));
}

/** A user's transaction on a connection of its own, open until it is ended; rolled back when the test forgets to. */
interface OpenTransaction {
  readonly tx: Tx;
  readonly pid: number;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export async function openTransaction(world: World): Promise<OpenTransaction> {
  const client = await world.client();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  await client.query("begin");
  let isOpen = true;
  const end = async (how: "commit" | "rollback"): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await client.query(how);
  };
  onTestFinished(() => end("rollback"));
  return {
    tx: { query: (text, values) => client.query(text, values) },
    pid: rows[0]!.pid,
    commit: () => end("commit"),
    rollback: () => end("rollback"),
  };
}

/** Resolves when so many sessions wait for a lock that the session with this pid holds; says what they wait for. */
export async function untilBlockedBy(world: World, pid: number, sessions = 1): Promise<readonly string[]> {
  for (let looks = 0; looks < 20_000; looks++) {
    const waiting = await world.sql<{ event: string }>(
      "select wait_event as event from pg_stat_activity where wait_event_type = 'Lock' and $1 = any(pg_blocking_pids(pid))",
      [pid],
    );
    if (waiting.length >= sessions) return waiting.map((row) => row.event);
  }
  throw new Error(`${sessions} session(s) should wait for a lock of session ${pid}, but never did.`);
}

/** Everything the database has of a job, wherever it is, with the place of its row version: equal means not written at all. */
export async function wholeRow(world: World, id: string): Promise<string> {
  const rows = await world.sql(
    `select 'queue' as place, j.ctid::text, j.xmin::text, row_to_json(j)::text as job from leasehold.inbox j where id = $1
     union all
     select 'archive', a.ctid::text, a.xmin::text, row_to_json(a)::text from leasehold.inbox_archive a where id = $1`,
    [id],
  );
  return JSON.stringify(rows);
}

/** A job that w1 held until its lease ran out (`stale`), and that another worker holds now (`current`). */
interface TakenOver {
  readonly world: World;
  readonly here: Queue;
  readonly there: Queue;
  readonly stale: ClaimedJob;
  readonly current: ClaimedJob;
}

export async function takenOver(by = "w2"): Promise<TakenOver> {
  const clock = settableClock();
  const world = await setup({ clock });
  const [here, there] = await openQueues(world, 2);
  await here!.enqueue("receipt.send", 1, { partitionKey: "order:9182" });
  const [stale] = await here!.claim({ workerId: "w1", leaseMs: 1_000 });
  clock.advance(1_000);
  await there!.claim({ workerId: by });
  clock.advance(2_500);
  const [current] = await there!.claim({ workerId: by });
  return { world, here: here!, there: there!, stale: stale!, current: current! };
}

interface Drain {
  /** Stop after so many rows. */
  readonly rows: number;
  readonly claim: () => { readonly limit: number; readonly buckets?: readonly number[] };
  /** Called with what was claimed; the rows are completed when it is through. */
  readonly work: (jobs: readonly ClaimedJob[], claimer: number) => void | Promise<void>;
}

/** All queues claim and complete at once, until so many rows were claimed or nothing has come for long. */
export async function drain(queues: readonly Queue[], { rows, claim, work }: Drain): Promise<void> {
  let claimed = 0;
  const claimOn = async (queue: Queue, claimer: number): Promise<void> => {
    for (let idle = 0, seen = 0; claimed < rows && idle < 5_000; ) {
      const jobs = await queue.claim({ workerId: `w${claimer}`, ...claim() });
      claimed += jobs.length;
      idle = seen === claimed ? idle + 1 : 0;
      seen = claimed;
      if (jobs.length === 0) continue;
      await work(jobs, claimer);
      await queue.settle(jobs.map((job) => ({ job, outcome: complete })));
    }
  };
  await Promise.all(queues.map(claimOn));
}
