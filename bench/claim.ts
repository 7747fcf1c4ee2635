import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { connect, type Leasehold, type Queue } from "../src/index.js";
import { percentile } from "./percentile.js";

/**
 * What a claim of 250 rows from 180 of 360 buckets costs at a backlog of 2 000 and of 1 000 000 rows, half of them on one hot key, and
 * with 1 000 000 archived rows beside it, for both orders. Prints medians, ratios, and whether a plan sorted or scanned the backlog.
 *
 *   npm run bench:claim            (about two minutes; needs about 2 GB in the temporary folder)
 */
const rounds = 60;
const small = 2_000;
const large = Number(process.argv[2] ?? 1_000_000);
const buckets = Array.from({ length: 180 }, (_, i) => i * 2);

interface Figures {
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly rows: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const server = await startPostgres({
    durable: true,
    settings: { shared_buffers: "512MB", max_wal_size: "4GB" },
  });
  try {
    const lh = await connect({ url: server.url });
    await lh.migrate();
    say(`PostgreSQL ${server.version}, claim of 250 rows, 180 of 360 buckets, median of ${rounds}`);
    for (const order of ["key", "none"] as const) await compare(server.url, lh, order);
    await lh.close();
  } finally {
    await server.stop();
  }
}

async function compare(url: string, lh: Leasehold, order: "key" | "none"): Promise<void> {
  const queue = await lh.queue(`bench_${order}`, { order });
  const name = queue.name;
  await fill(url, name, small);
  const first = await measure(queue);
  report(order, `${small} rows`, first, first);
  await fill(url, name, large - small);
  const second = await measure(queue);
  report(order, `${large} rows, half on one key`, second, first);
  await archive(url, name, large);
  report(order, `the same, ${large} archived rows`, await measure(queue), first);
  for (const line of await plans(url, name)) say(`    ${line}`);
}

async function measure(queue: Queue): Promise<Figures> {
  const times: number[] = [];
  let rows = 0;
  for (let i = 0; i < rounds + 10; i++) {
    const start = performance.now();
    const jobs = await queue.claim({ workerId: "bench", buckets, limit: 250 });
    if (i >= 10) times.push(performance.now() - start);
    rows = Math.max(rows, jobs.length);
    await queue.settle(jobs.map((job) => ({ job, outcome: { is: "release" } })));
  }
  return {
    medianMs: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    rows,
  };
}

function report(order: string, what: string, figures: Figures, base: Figures): void {
  const ratio = (figures.medianMs / base.medianMs).toFixed(2);
  say(
    `  ${order.padEnd(5)} ${what.padEnd(36)} ${figures.medianMs.toFixed(2).padStart(7)} ms (p95 ${figures.p95Ms.toFixed(2)}), ${figures.rows} rows, ${ratio}x`,
  );
}

async function fill(url: string, queue: string, count: number): Promise<void> {
  say(`  ${queue}: writing ${count} rows`);
  const keys = "case when n % 2 = 0 then 'tenant:hot' else 'order:' || (n % 100000) end";
  await onClient(url, async (client) => {
    await client.query(
      `insert into leasehold.${queue} (kind, payload, partition_key)
       select 'bench', jsonb_build_object('n', n, 'text', repeat('x', 220)), ${keys} from generate_series(1, $1::int) n`,
      [count],
    );
    await client.query(`vacuum analyze leasehold.${queue}`);
  });
}

async function archive(url: string, queue: string, count: number): Promise<void> {
  say(`  ${queue}: writing ${count} archived rows`);
  await onClient(url, (client) =>
    client.query(
      `insert into leasehold.${queue}_archive select gen_random_uuid(), n, 1, now(), now(), now(), now(), 1, 0, 5, 0, n % 360,
         'completed', 'bench', 'order:' || n, 'w', null, null, '{}', '[]', '{}' from generate_series(1, $1::int) n`,
      [count],
    ),
  );
}

/** What the planner does inside the claim: scans of the whole table and sorts of many rows, which there should be none of. */
async function plans(url: string, queue: string): Promise<string[]> {
  return await onClient(url, async (client) => {
    const notices: string[] = [];
    client.on("notice", (notice) => notices.push(notice.message ?? ""));
    await client.query(
      "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; " +
        "set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_level = notice",
    );
    await client.query(
      `select id from leasehold.${queue}_claim('plans', $1, null, 250, 20, 250, 1, 60000, null, null)`,
      [buckets],
    );
    const text = notices.join("\n");
    const scans = text.match(new RegExp(`Seq Scan on ${queue}\\b`, "g")) ?? [];
    const widest = Math.max(
      0,
      ...[...text.matchAll(/Sort[^\n]*actual rows=([\d.]+)/g)].map((match) => Number(match[1])),
    );
    const most = Math.max(
      0,
      ...[...text.matchAll(/Scan[^\n]*actual rows=([\d.]+) loops=(\d+)/g)].map(
        (m) => Number(m[1]) * Number(m[2]),
      ),
    );
    return [
      `plans: ${scans.length} scans of the table, the widest sort has ${widest} rows, the widest scan ${most} rows`,
    ];
  });
}

async function onClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

await main();
