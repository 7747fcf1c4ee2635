import { startPostgres } from "../src/embedded.js";
import { connect, type HeldJob, type Leasehold } from "../src/index.js";

/** What `npm start` shows: a receipt and a refund for one order, in order, on a PostgreSQL of its own. */

interface Jobs {
  "receipt.send": { order: number; to: string };
  "refund.pay": { order: number; cents: number };
}

const say = (line = ""): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const given = process.env.DATABASE_URL;
  if (given) {
    say("Using the database in DATABASE_URL.");
    await withDatabase(given);
    return;
  }
  say("Starting an embedded PostgreSQL (the first time takes a second) ...");
  const server = await startPostgres({
    dataDirectory: ".leasehold/postgres",
    log: unusual,
  });
  say(`PostgreSQL ${server.version} is at ${server.url}; its data stay in ${server.dataDirectory}`);
  try {
    await withDatabase(server.url);
    if (process.stdin.isTTY) await untilInterrupted();
  } finally {
    await server.stop();
  }
}

/** The server's own log is for its operator; what the launcher has to say is for the reader. */
function unusual(line: string): void {
  if (!/\[\d+\]/.test(line)) say(`  ${line}`);
}

async function withDatabase(url: string): Promise<void> {
  const lh = await connect({ url });
  try {
    const applied = await lh.migrate();
    say(
      applied > 0
        ? `Applied ${applied} migrations to the schema ${lh.schema}.`
        : `The schema ${lh.schema} is up to date.`,
    );
    await sellAndRefund(lh);
    explain(url, lh.schema);
  } finally {
    await lh.close();
  }
}

async function sellAndRefund(lh: Leasehold): Promise<void> {
  const inbox = await lh.queue<Jobs>("inbox", { order: "key" });
  const partitionKey = "order:9182";
  say();
  say(`Enqueue a receipt and a refund for ${partitionKey}, the receipt twice:`);
  const run = Date.now();
  const receipt = { order: 9182, to: "kim@example.com" };
  const once = { partitionKey, idempotencyKey: `receipt:9182:${run}` };
  for (const answer of [
    await inbox.enqueue("receipt.send", receipt, once),
    await inbox.enqueue("receipt.send", receipt, once),
  ]) {
    say(
      `  receipt.send  ${answer.id}  ${answer.duplicate ? "duplicate: the first one answers for its key" : "enqueued"}`,
    );
  }
  const refund = await inbox.enqueue("refund.pay", { order: 9182, cents: 4_200 }, { partitionKey });
  say(`  refund.pay    ${refund.id}  enqueued`);
  say(`Why is the refund not running? ${(await inbox.why(refund.id)).words}`);

  say();
  say("Claim, run and complete by hand:");
  let last: HeldJob | null = null;
  for (let pass = 1; pass <= 10; pass++) {
    const [job] = await inbox.claim({ workerId: "by-hand", limit: 1 });
    if (job === undefined) break;
    last = job;
    say(
      `  claimed   ${job.kind.padEnd(12)} attempt ${job.attempt}, fence token ${job.fenceToken}, lease until ${job.leaseExpiresAt.toISOString()}`,
    );
    const nobody = await inbox.claim({ workerId: "somebody-else" });
    say(
      `            somebody else claims at the same time and gets ${nobody.length} jobs: ${partitionKey} is taken`,
    );
    say(
      `  completed ${job.kind.padEnd(12)} ${(await inbox.complete(job)) ? "and archived" : "by somebody else"}`,
    );
  }
  const isAccepted = last !== null && (await inbox.complete(last));
  say(
    `The last one completed once more, by a worker that woke up late: ${isAccepted ? "accepted" : "refused, 0 rows touched"}`,
  );
  const { pending, processing, deadLetter } = await inbox.stats();
  say(`Left in the queue: ${pending} pending, ${processing} processing, ${deadLetter} dead letters.`);
}

function explain(url: string, schema: string): void {
  say();
  say("Look at it with psql:");
  say(
    `  psql ${url} -c "select kind, status, attempts, lease_generation, finished_at from ${schema}.inbox_archive order by seq"`,
  );
  say(`  psql ${url} -c "select * from ${schema}.queues"`);
  say();
}

async function untilInterrupted(): Promise<void> {
  say("The database stays up until you press Ctrl-C.");
  await new Promise<void>((resolve) => process.once("SIGINT", resolve));
  say("Stopping.");
}

await main();
