import { fork } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { violationsOf } from "../simulation/checkers/all.js";
import type { Entry } from "../simulation/entries.js";
import type { History, Violation } from "../simulation/history.js";
import { startPostgres } from "../src/embedded.js";
import { Fleet } from "./fleet.js";
import { historyOf } from "./history-of.js";
import { Journal, nowMs } from "./journal.js";
import { ServerProxy } from "./proxy.js";
import type { ProducerTask } from "./settings.js";
import { prepare, stopActors, untilDone } from "./stage.js";
import { makeSynchronous, promote, startStandby } from "./standby.js";

const help = `npm run failover -- [options]

A primary with a standby, four workers and sixteen producers. The primary is killed with -9 under load, the standby is promoted, and everybody is led to it. Counts what was
acknowledged and lost, and what ran out of order.

  --async         the standby lags behind, and commits do not wait for it: what was acknowledged may be lost
  --lag N         milliseconds that the stream to the standby takes, with --async (300)
  --seconds N     load before and after (10)
  --rate N        jobs a second (300)
  --json          the figures as JSON
  --help          this text

Example: npm run failover
         npm run failover -- --async --lag 500`;

interface Options {
  readonly isAsync: boolean;
  readonly lagMs: number;
  readonly seconds: number;
  readonly rate: number;
  readonly isJson: boolean;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function optionsOf(args: readonly string[]): Options | null {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { async: flag, lag: text, seconds: text, rate: text, json: flag, help: flag },
  });
  if (values.help === true) return null;
  const number = (given: string | undefined, fallback: number): number => {
    const value = given === undefined ? fallback : Number(given);
    if (!Number.isFinite(value) || value <= 0) throw new RangeError(`${given} is not a number above 0.`);
    return value;
  };
  return {
    isAsync: values.async === true,
    lagMs: number(values.lag, 300),
    seconds: number(values.seconds, 10),
    rate: number(values.rate, 300),
    isJson: values.json === true,
  };
}

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
  const folder = await mkdtemp(join(tmpdir(), "leasehold-failover-"));
  await chmod(folder, 0o711); // The server may run under another account.
  try {
    return await run(options, folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function run(options: Options, folder: string): Promise<number> {
  const { isAsync, seconds } = options;
  await mkdir(join(folder, "journals"));
  const primary = await startPostgres({ dataDirectory: join(folder, "primary"), durable: true });
  await prepare(primary.url, { strict: true });
  const stream = await ServerProxy.before(primary.url);
  const standby = await startStandby(primary, join(folder, "standby"), stream.url);
  if (isAsync) stream.delayMs = options.lagMs;
  else await makeSynchronous(primary);
  const front = await ServerProxy.before(primary.url);
  const fleet = new Fleet(front.url, join(folder, "journals"));
  const nemesis = join(folder, "journals", "nemesis.jsonl");
  const journal = new Journal(nemesis);
  for (const id of ["a", "b", "c", "d"]) await fleet.start(id);
  const producers = join(folder, "journals", "producers.jsonl");
  const producer = startProducers(front.url, producers, options.rate);
  say(
    `load on PostgreSQL ${primary.version}, ${isAsync ? `a standby ${options.lagMs} ms behind` : "commits wait for the standby"}`,
  );
  await sleep(seconds * 1_000);
  const killedAtMs = nowMs();
  journal.note({ is: "fault", process: "*", what: "failover", state: "hit" });
  await primary.kill();
  stream.close();
  await promote(standby);
  const promotedAtMs = nowMs();
  front.retarget(standby.url);
  front.cut();
  journal.note({ is: "fault", process: "*", what: "failover", state: "ok" });
  await sleep(seconds * 1_000);
  await stopActors([producer]);
  await untilDone(standby.url);
  await fleet.stop(15_000);
  const history = await historyOf(standby.url, [nemesis, producers, ...fleet.journals], {
    strict: true,
    isClockMoved: false,
  });
  front.close();
  await standby.stop();
  await primary.stop();
  return tell(options, history, { killedAtMs, promotedAtMs });
}

function startProducers(url: string, journal: string, jobsPerSecond: number): ReturnType<typeof fork> {
  const task: ProducerTask = {
    name: "producers",
    url,
    journal,
    producers: 16,
    lateProducers: 0,
    jobsPerSecond,
    seed: 1,
  };
  return fork(fileURLToPath(new URL("producer-process.js", import.meta.url)), [JSON.stringify(task)]);
}

function tell(
  options: Options,
  history: History,
  times: { readonly killedAtMs: number; readonly promotedAtMs: number },
): number {
  const violations = violationsOf(history);
  const { killedAtMs, promotedAtMs } = times;
  const resumedAtMs = history.entries.find(
    (entry) => entry.is === "started" && entry.atMs > promotedAtMs,
  )?.atMs;
  const figures = {
    acknowledged: count(history.entries, "acknowledged"),
    started: count(history.entries, "started"),
    lost: of(violations, "nothing lost"),
    orderBreaks: of(violations, "order per key") + of(violations, "no overlap"),
    violations: violations.length,
    promotedAfterMs: Math.round(promotedAtMs - killedAtMs),
    resumedAfterMs: resumedAtMs === undefined ? null : Math.round(resumedAtMs - killedAtMs),
  };
  say(
    options.isJson
      ? JSON.stringify(figures)
      : Object.entries(figures)
          .map(([name, value]) => `${name.padEnd(18)} ${value}`)
          .join("\n"),
  );
  for (const { checker, message } of violations.slice(0, 5)) say(`  ${checker}: ${message}`);
  return violations.length === 0 || options.isAsync ? 0 : 1;
}

function count(entries: readonly Entry[], is: Entry["is"]): number {
  return entries.filter((entry) => entry.is === is).length;
}

function of(violations: readonly Violation[], checker: string): number {
  return violations.filter((violation) => violation.checker === checker).length;
}

process.exitCode = await main();
