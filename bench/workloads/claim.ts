import { noFaults } from "../faults.js";
import { percentile } from "../percentile.js";
import { onClient } from "../stores/postgres-stores.js";
import type { Store } from "../stores/store.js";
import { schema } from "../systems/leasehold.js";
import { keyCount } from "./backlog.js";
import type { Figure, Workload } from "./workload.js";

const sizes = [
  { name: "3m", title: "3 000 000", rows: 3_000_000 },
  { name: "100k", title: "100 000", rows: 100_000 },
  { name: "1k", title: "1 000", rows: 1_000 },
];
const claimRows = 25;
const milliseconds = { unit: "ms", better: "less", digits: 2 } as const;

export const claim: Workload = {
  id: "B10",
  title: "Claim of 25 rows by size of the backlog",
  about:
    "400 claims by hand over all buckets, after 30 of warm-up; the rows are released in between, and only the claim is timed. 1 000 keys.",
  figures: sizes.flatMap(({ name, title }): Figure[] => [
    { key: `p50_${name}`, label: `median at ${title}`, ...milliseconds, isInSummary: true },
    { key: `p99_${name}`, label: `99th percentile at ${title}`, ...milliseconds },
  ]),
  expectedSeconds: 120,
  run: async (cell) => {
    const store = await cell.openStore();
    const child = await cell.spawn(store);
    await child.ask("setup", null);
    const figures: Record<string, number> = {};
    for (const { name, rows } of sizes) {
      const queue = `claim_${name}`;
      // The first call makes the queue, and finds nothing in it to claim.
      await child.ask("claims", { queue, rows: 0, warmUp: 0, count: 1 });
      await insert(store, queue, Math.max(2 * claimRows, cell.scaled(rows)));
      const input = { queue, rows: claimRows, warmUp: 30, count: cell.scaled(400) };
      const times = await child.ask("claims", input);
      figures[`p50_${name}`] = percentile(times, 0.5);
      figures[`p99_${name}`] = percentile(times, 0.99);
    }
    return { figures, faults: noFaults };
  },
};

async function insert(store: Store, queue: string, rows: number): Promise<void> {
  await onClient(store.url, (client) =>
    client.query(
      `insert into ${schema}.${queue} (kind, payload, partition_key)
       select 'work', jsonb_build_object('n', n, 'text', repeat('x', 228)), 'key:' || (n % $2::int) from generate_series(1, $1::int) n`,
      [rows, keyCount],
    ),
  );
  await store.settle();
}
