import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { violationsOf } from "../simulation/checkers/all.js";
import { Dice } from "../simulation/dice.js";
import { type PostgresServer, startPostgres } from "../src/embedded.js";
import { Claimer } from "./claimer.js";
import { figuresOf } from "./figures.js";
import { Fleet } from "./fleet.js";
import { historyOf } from "./history-of.js";
import { Journal } from "./journal.js";
import { Nemesis } from "./nemesis.js";
import { type ChaosOptions, chaosOptions, help } from "./options.js";
import { recoveriesOf } from "./recoveries.js";
import { lateRecoveries } from "./recovery-bound.js";
import { report } from "./report.js";
import { Rights } from "./rights.js";
import { ServerClock } from "./server-clock.js";
import type { ActorTask, ProducerTask } from "./settings.js";
import { prepare, stopActors, untilDone } from "./stage.js";
import { timeline } from "./timeline.js";

/** The command `npm run chaos`. */

const producerProcesses = 2;
const producersEach = 8;
const lateEach = 1;
const progressMs = 5_000;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  let options: ChaosOptions | null;
  try {
    options = chaosOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${help}\n`);
    return 2;
  }
  if (options === null) {
    say(help);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "leasehold-chaos-"));
  const refusals = { count: 0 };
  const log = (line: string): void => {
    if (line.includes("permission denied")) refusals.count++;
  };
  const settings = { max_connections: "200", synchronous_commit: "on", track_commit_timestamp: "on" };
  const { server, clock } = options.isClockMoved
    ? await ServerClock.start({ log, settings }, folder)
    : { server: await startPostgres({ log, settings }), clock: null };
  try {
    return await run(options, server, { folder, refusals, clock });
  } finally {
    await server.stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(
  options: ChaosOptions,
  server: PostgresServer,
  {
    folder,
    refusals,
    clock,
  }: {
    readonly folder: string;
    readonly refusals: { readonly count: number };
    readonly clock: ServerClock | null;
  },
): Promise<number> {
  const { minutes, seed, everyMs } = options;
  const { url } = server;
  await prepare(url, { strict: false });
  const rights = new Rights(url);
  await rights.prepare();
  const dice = new Dice(seed);
  const fleet = new Fleet(url, folder, (name) => rights.admit(name));
  const claimer = new Claimer({ url, folder, seed });
  const journals = [join(folder, "nemesis.jsonl"), join(folder, "operator.jsonl")];
  const nemesis = new Nemesis({
    server,
    fleet,
    journal: new Journal(journals[0] ?? ""),
    dice: dice.fork("nemesis"),
    rights,
    claimer,
    clock,
  });
  for (const id of ["a", "b", "c", "d"]) await fleet.start(id);
  claimer.start();
  const operator: ActorTask = { name: "operator", url, journal: journals[1] ?? "", seed };
  const actors = [start("operator-process.js", operator)];
  for (let n = 0; n < producerProcesses; n++) {
    const journal = join(folder, `producer-${n}.jsonl`);
    journals.push(journal);
    actors.push(startProducers({ ...options, url, journal, name: `producer#${n}`, seed: seed + n }));
  }
  say(`seed ${seed}: ${minutes} minutes, a fault every ${everyMs} ms`);
  const startedAtMs = performance.now();
  let killed = 0;
  const timer = setInterval(() => progress(nemesis, startedAtMs), progressMs);
  try {
    await nemesis.run(startedAtMs + minutes * 60_000, everyMs);
    actors.push(...claimer.end());
    killed = await stopActors(actors);
    await untilDone(url);
    await fleet.stop(15_000);
  } finally {
    clearInterval(timer);
    for (const child of [...actors, ...claimer.end(), ...fleet.workers.map((worker) => worker.child)])
      child.kill("SIGKILL");
  }
  const crashes = [...fleet.crashes, ...claimer.crashes];
  if (killed > 0) crashes.push(`${killed} producers, claimers or operators did not stop when told to`);
  journals.push(...claimer.journals, ...fleet.journals);
  return await judge(options, { server, nemesis, crashes, journals, refused: refusals.count });
}

async function judge(
  options: ChaosOptions,
  ran: {
    readonly server: PostgresServer;
    readonly nemesis: Nemesis;
    readonly crashes: readonly string[];
    readonly journals: readonly string[];
    readonly refused: number;
  },
): Promise<number> {
  const history = await historyOf(ran.server.url, ran.journals, {
    strict: false,
    isClockMoved: options.isClockMoved,
  });
  const crashes = ran.crashes.map((message) => ({ checker: "processes live", message, about: [] }));
  const late = lateRecoveries(recoveriesOf(history.entries));
  const violations = [...violationsOf(history), ...late, ...crashes];
  const figures = figuresOf(history);
  const parts = {
    seed: options.seed,
    figures,
    faults: ran.nemesis.counts,
    violations,
    server: ran.server.version,
    refused: ran.refused,
  };
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, "report.md"), report(parts));
  writeFileSync(join(options.out, "timeline.svg"), timeline(history, figures));
  say(report(parts));
  say(
    `Written to ${options.out}. Run it again: npm run chaos -- --seed ${options.seed} --minutes ${options.minutes}${options.isClockMoved ? " --clock" : ""}`,
  );
  if (options.isJson)
    say(
      JSON.stringify({
        seed: options.seed,
        ...figures,
        faults: Object.fromEntries(ran.nemesis.counts),
        violations,
      }),
    );
  return violations.length === 0 ? 0 : 1;
}

function startProducers(given: Omit<ProducerTask, "producers" | "lateProducers">): ChildProcess {
  const jobsPerSecond = given.jobsPerSecond / producerProcesses;
  return start("producer-process.js", {
    ...given,
    producers: producersEach,
    lateProducers: lateEach,
    jobsPerSecond,
  });
}

function start(file: string, task: ProducerTask | ActorTask): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(task)]);
}

function progress(nemesis: Nemesis, startedAtMs: number): void {
  const faults = [...nemesis.counts.values()].reduce((sum, count) => sum + count, 0);
  process.stderr.write(`${Math.round((performance.now() - startedAtMs) / 1_000)} s: ${faults} faults\n`);
}

process.exitCode = await main();
