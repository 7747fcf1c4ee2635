/**
 * How long an operator waits for the first answer on a large queue: of 5 000 000 jobs 4 000 000 pending on 100 000 keys, 500 000 scheduled, 500 000 dead with 20 kinds of errors. Each verb is called on a
 * connection of its own, so its plan is made too. Fails when one takes longer than 300 ms; those in brackets read the whole table and are for comparison.
 *
 *   npm run bench:large                     (about four minutes; needs about 8 GB in the temporary folder)
 *   npm run bench:large -- --rows 200000
 *   npm run bench:large -- --keep /tmp/large  (fills the folder once and uses it again)
 */
import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { connect, type Leasehold, type Queue } from "../src/index.js";
import { fillLargeQueue } from "./large-fill.js";

const LIMIT_MS = 300;
const QUEUE = "large";

interface Verb {
  readonly name: string;
  /** Reads the whole table by design, so it has no limit. */
  readonly isExact?: boolean;
  ask(lh: Leasehold, queue: Queue, facts: Facts): Promise<string>;
}

/** Ids that a person would have from an earlier answer. */
interface Facts {
  /** A row in the middle of the longest line. */
  readonly middle: string;
}

const verbs: readonly Verb[] = [
  {
    name: "stats, exact: false",
    ask: async (_lh, queue) => {
      const { pending, deadLetter, share } = await queue.stats({ exact: false });
      return `${pending} pending, ${deadLetter} dead, from ${(share * 100).toFixed(1)} %`;
    },
  },
  { name: "list", ask: async (_lh, queue) => `${(await queue.list()).length} jobs` },
  { name: "search, a common kind", ask: search({ kind: "mail.send" }) },
  { name: "search, a worker", ask: search({ workerId: "worker-1" }) },
  { name: "search, what a worker holds", ask: search({ status: "processing", workerId: "worker-2" }) },
  {
    name: "search, a long line",
    ask: search({ status: "pending", partitionKey: "tenant:hot", error: "nowhere" }),
  },
  { name: "search, an error that is nowhere", ask: search({ error: "nowhere" }) },
  { name: "search, a payload that is nowhere", ask: search({ payload: { order: -1 } }) },
  { name: "search, dead letters, an error", ask: search({ status: "dead_letter", error: "nowhere" }) },
  { name: "search, completed jobs", ask: search({ status: "completed" }) },
  {
    name: "deadLetters",
    ask: async (_lh, queue) => {
      const { groups, looked } = await queue.deadLetters();
      return `${groups.length} groups of ${looked}`;
    },
  },
  {
    name: "ring",
    ask: async (lh, queue) => `${(await lh.ring(queue.name)).members.length} workers`,
  },
  {
    name: "ownerOf",
    ask: async (_lh, queue) => `${(await queue.ownerOf("order:9182")).owner}`,
  },
  {
    name: "why, in the middle of a long line",
    ask: async (_lh, queue, { middle }) => {
      const { reason, ahead } = await queue.why(middle);
      return `${reason}, ${ahead} ahead`;
    },
  },
  {
    name: "audit",
    isExact: true,
    ask: async (lh) => `${(await lh.audit()).breaches.length} breaches`,
  },
  { name: "stats", isExact: true, ask: async (_lh, queue) => `${(await queue.stats()).pending} pending` },
  {
    name: "list, a kind that is nowhere",
    isExact: true,
    ask: async (_lh, queue) => `${(await queue.list({ kind: "nowhere" })).length} jobs`,
  },
];

function search(filter: Parameters<Queue["search"]>[0]): Verb["ask"] {
  return async (_lh, queue) => {
    const { jobs, looked, cursor } = await queue.search(filter);
    return `${jobs.length} of ${looked}${cursor === null ? "" : ", more"}`;
  };
}

async function main(rows: number, folder: string | undefined): Promise<number> {
  const server = await startPostgres({
    ...(folder === undefined ? {} : { dataDirectory: folder }),
    durable: false,
    settings: { shared_buffers: "512MB", max_wal_size: "4GB" },
  });
  try {
    const facts = await prepare(server.url, rows);
    console.log(`PostgreSQL ${server.version}, first call of each, limit ${LIMIT_MS} ms`);
    let slow = 0;
    for (const verb of verbs) {
      const { ms, said } = await firstCall(server.url, verb, facts);
      const name = verb.isExact === true ? `(${verb.name})` : verb.name;
      console.log(`  ${name.padEnd(40)} ${ms.toFixed(0).padStart(6)} ms   ${said}`);
      if (verb.isExact !== true && ms > LIMIT_MS) slow++;
    }
    return slow === 0 ? 0 : 1;
  } finally {
    await server.stop();
  }
}

async function prepare(url: string, rows: number): Promise<Facts> {
  const lh = await connect({ url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await lh.migrate();
    await lh.queue(QUEUE, { order: "key" });
    const filled = await client.query(`select 1 from leasehold.${QUEUE} limit 1`);
    if (filled.rows.length === 0) {
      const began = performance.now();
      await fillLargeQueue(client, QUEUE, rows);
      console.log(`${rows} rows written in ${((performance.now() - began) / 1000).toFixed(0)} s`);
    }
    await client.query("update leasehold.workers set last_seen_at = now()");
    const found = await client.query<{ id: string }>(
      `select id from leasehold.${QUEUE} where in_line and partition_bucket = leasehold.bucket_of('tenant:hot', 360) and partition_key = 'tenant:hot'
       order by seq offset $1 limit 1`,
      [Math.floor(rows / 250)],
    );
    return { middle: found.rows[0]?.id ?? "" };
  } finally {
    await client.end();
    await lh.close();
  }
}

/** The connection and the queue are opened before: a command line does that for every command, and it takes the same time on an empty queue. */
async function firstCall(url: string, verb: Verb, facts: Facts): Promise<{ ms: number; said: string }> {
  const lh = await connect({ url });
  try {
    const queue = await lh.queue(QUEUE);
    const began = performance.now();
    const said = await verb.ask(lh, queue, facts);
    return { ms: performance.now() - began, said };
  } finally {
    await lh.close();
  }
}

const given = (name: string): string | undefined => {
  const place = process.argv.indexOf(name);
  return place < 0 ? undefined : process.argv[place + 1];
};
process.exitCode = await main(Number(given("--rows") ?? 5_000_000), given("--keep"));
