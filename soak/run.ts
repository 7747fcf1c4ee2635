import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startPostgres } from "../src/embedded.js";
import { connect } from "../src/index.js";
import { databaseFigures, processFigures } from "./measure.js";
import { help, type SoakOptions, soakOptions } from "./options.js";
import { report } from "./report.js";
import { dayMs, type ProcessFigures, queueName, type SoakTask, schema } from "./settings.js";
import { type Sample, slopesOf, tooSteep } from "./slopes.js";

/** The command `npm run soak`. */

const minuteMs = 60_000;
/** Shorter runs end before things have their size. */
const judgedMinutes = 60;
/** Share of the run after which things should have their size. */
const warmUpShare = 0.25;
/** What may rise, an hour. Memory of Node moves by a few MB with its collector; the catalog by what a new archive day writes. */
const limits: Readonly<Record<string, number>> = {
  "worker RSS, MB": 8,
  "worker heap, MB": 4,
  "producer RSS, MB": 8,
  "backend memory of its own, MB": 2,
  "queue table, MB": 2,
  "queue indexes, MB": 2,
  "catalog, MB": 1,
  "workers table, MB": 1,
  "jobs in line": 100,
  "dead letters in the queue": 100,
};
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  let options: SoakOptions | null;
  try {
    options = soakOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}\n`);
    return 2;
  }
  if (options === null) {
    say(help);
    return 0;
  }
  const server = await startPostgres({ settings: { max_connections: "200" } });
  const children: ChildProcess[] = [];
  try {
    await prepare(server.url);
    const samples = await soak(options, server.url, children);
    return judge(options, samples);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await server.stop("immediate");
  }
}

/** Three days are kept, so that days also end, and dead letters for one. */
async function prepare(url: string): Promise<void> {
  const lh = await connect({ url, schema, logger: false });
  await lh.migrate();
  await lh.queue(queueName, {
    order: "key",
    retentionMs: 3 * dayMs,
    dedupeWindowMs: dayMs,
    deadLetterRetentionMs: dayMs,
  });
  await lh.close();
}

async function soak(options: SoakOptions, url: string, children: ChildProcess[]): Promise<readonly Sample[]> {
  const start = async (file: string, name: string): Promise<ChildProcess> => {
    const task: SoakTask = { name, url, jobsPerSecond: options.jobsPerSecond };
    const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(task)]);
    children.push(child);
    await once(child, "message");
    return child;
  };
  const workers: ChildProcess[] = [];
  for (let n = 0; n < options.workers; n++) workers.push(await start("worker-process.js", `worker-${n}`));
  const producer = await start("producer-process.js", "producer");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const samples: Sample[] = [];
  for (let minute = 1; minute <= options.minutes; minute++) {
    await sleep(minuteMs);
    const days = Math.floor((minute * (options.days + 1)) / (options.minutes + 1));
    const ofWorkers = await Promise.all(workers.map((child) => ask(child, days)));
    const figures = {
      ...processFigures(ofWorkers, await ask(producer, days)),
      ...(await databaseFigures(client)),
    };
    samples.push({ minute, figures });
    process.stderr.write(progress(minute, days, figures));
  }
  await client.end();
  return samples;
}

async function ask(child: ChildProcess, days: number): Promise<ProcessFigures> {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error("A process has ended.");
  const answer = once(child, "message");
  child.send({ days });
  return (await answer)[0] as ProcessFigures;
}

function progress(minute: number, days: number, figures: Readonly<Record<string, number>>): string {
  const of = (name: string): number => Math.round(figures[name] ?? 0);
  return `minute ${minute}, day ${days}: ${of("jobs done")} done, start p99 ${of("start p99, ms")} ms, worker ${of("worker RSS, MB")} MB, queue ${of("queue table, MB")} MB\n`;
}

function judge(options: SoakOptions, samples: readonly Sample[]): number {
  const slopes = slopesOf(samples, options.minutes * warmUpShare, limits);
  const { minutes, jobsPerSecond, workers, days } = options;
  const about = `${minutes} minutes, ${jobsPerSecond} jobs a second, ${workers} workers, ${days} days passed over`;
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, "samples.json"), JSON.stringify(samples));
  writeFileSync(join(options.out, "report.md"), report(about, slopes));
  say(report(about, slopes));
  if (options.isJson) say(JSON.stringify({ ...options, slopes }));
  if (minutes < judgedMinutes) say(`\nA run of under ${judgedMinutes} minutes is not judged.`);
  return minutes < judgedMinutes || tooSteep(slopes).length === 0 ? 0 : 1;
}

process.exitCode = await main();
