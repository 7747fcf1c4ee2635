import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { isLong } from "../support/length.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

interface Watch {
  readonly underWay: Set<readonly number[]>;
  most: number;
  readonly shared: number[];
}

/** Every claim on this client, committed long ago, is answered late. Notes which buckets are looked into at the same time. */
function answerLate(client: pg.PoolClient, watch: Watch): void {
  const query = client.query;
  const late = async (answer: unknown, buckets: readonly number[]): Promise<unknown> => {
    const others = new Set([...watch.underWay].flat());
    watch.shared.push(...buckets.filter((bucket) => others.has(bucket)));
    watch.underWay.add(buckets);
    watch.most = Math.max(watch.most, watch.underWay.size);
    try {
      const rows = await answer;
      await sleep(20 * Math.random());
      return rows;
    } finally {
      watch.underWay.delete(buckets);
    }
  };
  client.query = ((...parameters: unknown[]) => {
    const answer: unknown = Reflect.apply(query, client, parameters);
    const { text, values } = parameters[0] as { readonly text?: string; readonly values: unknown[] };
    const isClaim = text?.includes("inbox_claim(") === true && Number(values[3]) > 0; // Not a sweep, which takes nothing.
    return isClaim ? late(answer, values[1] as readonly number[]) : answer;
  }) as typeof client.query;
}

test.each(["key", "none"] as const)(
  "two claims at a time look into different buckets, so neither takes the other's rows for lost (order %s)",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 40 }); // So few that two claims would meet.
    const count = isLong ? 20_000 : 6_000;
    const jobs = Array.from({ length: count }, (_, n) => ({
      kind: "k",
      payload: n,
      partitionKey: `key-${n % 400}`,
    }));
    await inbox.enqueueMany(jobs);
    const watch: Watch = { underWay: new Set(), most: 0, shared: [] };
    const pool = new pg.Pool({ connectionString: world.url });
    pool.on("connect", (client) => answerLate(client, watch));
    onTestFinished(() => pool.end());
    const lh = await world.connect({ pool, workerId: "a" });
    const starts = new Map<number, number>();
    const last = new Map<number, number>();
    let backwards = 0;
    const handle = ({ payload }: { readonly payload: unknown }): void => {
      const n = Number(payload);
      starts.set(n, (starts.get(n) ?? 0) + 1);
      if (n < (last.get(n % 400) ?? -1)) backwards++;
      last.set(n % 400, n);
    };
    await startWorker(lh, { k: handle }, { concurrency: 100 });
    await until("all are done", () => starts.size === count);
    expect(watch.most).toBe(2);
    expect(watch.shared).toEqual([]);
    expect([...starts.values()].filter((times) => times > 1)).toEqual([]);
    if (order === "key") expect(backwards).toBe(0);
  },
);

test.each(["key", "none"] as const)(
  "a row that has crashed its worker twice gets its turn while there is always more (order %s)",
  async (order) => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue("inbox", { order });
    let added = 0;
    const add = async (): Promise<void> => {
      const first = added;
      added += 5_000;
      await inbox.enqueueMany(
        Array.from({ length: 5_000 }, (_, i) => ({
          kind: "k",
          payload: i,
          partitionKey: `key-${(first + i) % 4_000}`,
        })),
      );
    };
    while (added < 20_000) await add();
    let started = 0;
    let waitingThen: number | null = null;
    const handle = ({ payload }: { readonly payload: unknown }): void => {
      if (payload === "suspect") waitingThen = added - started;
      started++;
    };
    await startWorker(world.lh, { k: handle }, { concurrency: 100 });
    await until("it is in full swing", () => started > 5_000);
    await world.sql(
      `insert into leasehold.inbox (kind, payload, partition_key, attempts, crashes, available_at) values ('k', '"suspect"', 'a key', 2, 2, now() - interval '1 hour')`,
    );
    await until("it was started", async () => {
      if (added - started < 20_000) await add();
      return waitingThen !== null;
    });
    expect(waitingThen).toBeGreaterThan(0);
  },
);
