import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { connect } from "../src/index.js";
import { DeployFleet } from "./deploy-fleet.js";
import { doneTable, queueName, schema } from "./deploy-settings.js";
import { DeployStage } from "./deploy-stage.js";
import { compileEarlier } from "./earlier-library.js";
import { number } from "./options.js";

/** The command `npm run rolling`. */

const help = `npm run rolling -- --from COMMIT [options]

A rolling deploy under load: workers and producers of an earlier commit and of this one work together on one database. Old processes are replaced one by one, one old process is started
again after the migration, and one comes back at the end, as in a rollback. Counts what was acknowledged, lost, done twice or out of order, and compares the schema before and after each
start of an old process.

  --from COMMIT   the earlier library; any name that git knows
  --jobs N        jobs that are done between two steps, at least (300)
  --rate N        jobs a second of each producer (200)
  --json          the figures as JSON
  --help          this text

Example: npm run rolling -- --from HEAD~100`;

interface Options {
  readonly from: string;
  readonly jobs: number;
  readonly rate: number;
  readonly isJson: boolean;
}

interface Figures {
  readonly from: string;
  acknowledged: number;
  done: number;
  lost: number;
  doubled: number;
  orderBreaks: number;
  schemaChanges: number;
  crashes: number;
  auditBreaches: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  let options: Options | null;
  try {
    options = optionsOf(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}\n`);
    return 2;
  }
  if (options === null) {
    say(help);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "leasehold-rolling-"));
  chmodSync(folder, 0o711);
  try {
    const old = compileEarlier(options.from, folder);
    const server = await startPostgres();
    try {
      return tell(options, await deploy(options, old, server.url));
    } finally {
      await server.stop("immediate");
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function optionsOf(args: readonly string[]): Options | null {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { from: text, jobs: text, rate: text, json: flag, help: flag },
  });
  if (values.help === true) return null;
  if (values.from === undefined) throw new RangeError("--from is needed: the commit of the earlier library.");
  return {
    from: values.from,
    jobs: number("jobs", values.jobs, 300),
    rate: number("rate", values.rate, 200),
    isJson: values.json === true,
  };
}

async function deploy(options: Options, old: string, url: string): Promise<Figures> {
  const own = fileURLToPath(new URL("../src/index.js", import.meta.url));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `create table ${doneTable} (n bigserial primary key, key text, number int, process text)`,
  );
  const fleet = new DeployFleet(url, options.rate);
  const stage = new DeployStage(client, fleet, options.jobs);
  try {
    const producers = [await stage.start("producer", "producer old", old)];
    const a = await stage.start("worker", "a old", old);
    const b = await stage.start("worker", "b old", old);
    const c = await stage.start("worker", "c old", old);
    await stage.replace(a, "a new", own);
    producers.push(await stage.start("producer", "producer new", own));
    const again = await stage.restartOld(c, "c old again", old);
    await stage.replace(b, "b new", own);
    await stage.replace(again, "c new", own);
    const back = await stage.restartOld(null, "a old, rolled back", old);
    await fleet.stop(back);
    for (const producer of producers) await fleet.stop(producer);
    await stage.until("nothing is left to do", async () => (await stage.unfinished()) === 0);
    return await figuresOf(options.from, stage, url);
  } finally {
    fleet.kill();
    await client.end();
  }
}

async function figuresOf(from: string, stage: DeployStage, url: string): Promise<Figures> {
  const { rows } = await stage.client.query<{ key: string; number: number }>(
    `select key, number from ${doneTable} order by n`,
  );
  const doneOf = new Map<string, number[]>();
  for (const row of rows) {
    const done = doneOf.get(row.key);
    if (done === undefined) doneOf.set(row.key, [row.number]);
    else done.push(row.number);
  }
  const figures: Figures = {
    from,
    acknowledged: stage.fleet.total,
    done: rows.length,
    lost: 0,
    doubled: 0,
    orderBreaks: 0,
    schemaChanges: stage.schemaChanges,
    crashes: stage.fleet.crashes.length,
    auditBreaches: await audited(url),
  };
  for (const [key, last] of stage.fleet.acknowledged) {
    const done = doneOf.get(key) ?? [];
    const distinct = new Set(done);
    for (let nth = 1; nth <= last; nth++) {
      if (distinct.has(nth)) continue;
      figures.lost++;
      process.stderr.write(`lost: ${key} ${nth}: ${await whatIsLeft(stage, `${key}:${nth}`)}\n`);
    }
    figures.doubled += done.length - distinct.size;
    figures.orderBreaks += done.filter((nth, n) => n > 0 && nth < (done[n - 1] ?? 0)).length;
  }
  for (const crash of stage.fleet.crashes) process.stderr.write(`${crash}\n`);
  return figures;
}

/** What the queue and its archive know of a job. */
async function whatIsLeft(stage: DeployStage, idempotencyKey: string): Promise<string> {
  const columns = "status, attempts, claimed_by, last_error, errors, created_at, finished_at";
  const { rows } = await stage.client.query(
    `select ${columns} from ${schema}.${queueName} where idempotency_key = $1
     union all select ${columns} from ${schema}.${queueName}_archive where idempotency_key = $1`,
    [idempotencyKey],
  );
  return JSON.stringify(rows);
}

async function audited(url: string): Promise<number> {
  const lh = await connect({ url, schema, logger: false });
  await lh.queue(queueName);
  const { breaches } = await lh.audit();
  await lh.close();
  return breaches.length;
}

function tell({ isJson }: Options, figures: Figures): number {
  const lines = Object.entries(figures).map(([name, value]) => `${name.padEnd(14)} ${value}`);
  say(isJson ? JSON.stringify(figures) : lines.join("\n"));
  const { lost, doubled, orderBreaks, schemaChanges, crashes, auditBreaches } = figures;
  return lost + doubled + orderBreaks + schemaChanges + crashes + auditBreaches === 0 ? 0 : 1;
}

process.exitCode = await main();
