import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { violationsOf } from "../simulation/checkers/all.js";
import { Dice } from "../simulation/dice.js";
import { type PostgresServer, startPostgres } from "../src/embedded.js";
import { figuresOf } from "./figures.js";
import { Fleet } from "./fleet.js";
import { historyOf } from "./history-of.js";
import { Journal } from "./journal.js";
import { Nemesis } from "./nemesis.js";
import { type ChaosOptions, chaosOptions, help } from "./options.js";
import { recoveriesOf } from "./recoveries.js";
import { lateRecoveries } from "./recovery-bound.js";
import { report } from "./report.js";
import type { ProducerTask } from "./settings.js";
import { prepare, stopProducers, untilDone } from "./stage.js";
import { timeline } from "./timeline.js";

/** The command `npm run chaos`. */

const producerProcesses = 2;
const producersEach = 8;
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
  const server = await startPostgres({ settings: { max_connections: "200", synchronous_commit: "on" } });
  try {
    return await run(options, server, folder);
  } finally {
    await server.stop("immediate");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(options: ChaosOptions, server: PostgresServer, folder: string): Promise<number> {
  const { minutes, seed, everyMs } = options;
  await prepare(server.url);
  const dice = new Dice(seed);
  const fleet = new Fleet(server.url, folder);
  const journals = [join(folder, "nemesis.jsonl")];
  const nemesis = new Nemesis({
    server,
    fleet,
    journal: new Journal(journals[0] ?? ""),
    dice: dice.fork("nemesis"),
  });
  for (const id of ["a", "b", "c", "d"]) await fleet.start(id);
  const producers = Array.from({ length: producerProcesses }, (_, n) => {
    const journal = join(folder, `producer-${n}.jsonl`);
    journals.push(journal);
    return startProducers({ ...options, url: server.url, journal, name: `producer#${n}`, seed: seed + n });
  });
  say(`seed ${seed}: ${minutes} minutes, a fault every ${everyMs} ms`);
  const startedAtMs = performance.now();
  const timer = setInterval(() => progress(nemesis, startedAtMs), progressMs);
  try {
    await nemesis.run(startedAtMs + minutes * 60_000, everyMs);
    await stopProducers(producers);
    await untilDone(server.url);
    await fleet.stop(15_000);
  } finally {
    clearInterval(timer);
    for (const child of [...producers, ...fleet.workers.map((worker) => worker.child)]) child.kill("SIGKILL");
  }
  return await judge(options, { server, nemesis, fleet, journals: [...journals, ...fleet.journals] });
}

async function judge(
  options: ChaosOptions,
  ran: {
    readonly server: PostgresServer;
    readonly nemesis: Nemesis;
    readonly fleet: Fleet;
    readonly journals: readonly string[];
  },
): Promise<number> {
  const history = await historyOf(ran.server.url, ran.journals);
  const crashes = ran.fleet.crashes.map((message) => ({ checker: "processes live", message, about: [] }));
  const late = lateRecoveries(recoveriesOf(history.entries));
  const violations = [...violationsOf(history), ...late, ...crashes];
  const figures = figuresOf(history);
  const parts = {
    seed: options.seed,
    figures,
    faults: ran.nemesis.counts,
    violations,
    server: ran.server.version,
  };
  mkdirSync(options.out, { recursive: true });
  writeFileSync(join(options.out, "report.md"), report(parts));
  writeFileSync(join(options.out, "timeline.svg"), timeline(history, figures));
  say(report(parts));
  say(
    `Written to ${options.out}. Run it again: npm run chaos -- --seed ${options.seed} --minutes ${options.minutes}`,
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

function startProducers(given: Omit<ProducerTask, "producers">): ChildProcess {
  const task: ProducerTask = {
    ...given,
    producers: producersEach,
    jobsPerSecond: given.jobsPerSecond / producerProcesses,
  };
  const file = fileURLToPath(new URL("producer-process.js", import.meta.url));
  return fork(file, [JSON.stringify(task)]);
}

function progress(nemesis: Nemesis, startedAtMs: number): void {
  const faults = [...nemesis.counts.values()].reduce((sum, count) => sum + count, 0);
  process.stderr.write(`${Math.round((performance.now() - startedAtMs) / 1_000)} s: ${faults} faults\n`);
}

process.exitCode = await main();
