import { startPostgres } from "../../src/embedded.js";
import { connect, type Leasehold, LeaseholdError } from "../../src/index.js";
import { count, duration } from "../demo/numbers.js";
import { Fleet } from "./fleet.js";
import { nowMs } from "./messages.js";
import { type ExampleOptions, exampleOptions, help } from "./options.js";
import { Screen } from "./screen.js";
import { heartbeatMs, tenantNames, ttlMs } from "./settings.js";
import { Show, type Step } from "./show.js";
import { type Spread, spreadOf } from "./spread.js";
import { Witness } from "./witness.js";
import { lineOf, stepLine, tableOf } from "./words.js";

/** What `npm run example:tenants` shows: tenants on a fleet of processes that grows, shrinks and loses members while they run. */

const connectionsPerWorker = 4;
const breachesShown = 10;

interface Outcome {
  readonly steps: readonly Step[];
  /** What was not as it should be, in sentences. */
  readonly breaches: readonly string[];
  readonly tookMs: number;
}

async function main(): Promise<void> {
  const stop = stopSignal();
  let options: ExampleOptions | null;
  try {
    options = exampleOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}\n`);
    process.exitCode = 2;
    return;
  }
  if (options === null) {
    process.stdout.write(`${help}\n`);
    return;
  }
  try {
    await onServer(options, stop);
  } catch (error) {
    if (stop.aborted) return stopped();
    if (!(error instanceof LeaseholdError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Aborts at the first signal; what runs is ended in order. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop.abort());
  return stop.signal;
}

function stopped(): void {
  process.stderr.write("Stopped before the end.\n");
  process.exitCode = 1;
}

async function onServer(options: ExampleOptions, signal: AbortSignal): Promise<void> {
  const { tenants, workers, tickMs, isJson } = options;
  const screen = new Screen(isJson);
  screen.say("Starting an embedded PostgreSQL ...");
  const connections = String((workers + 1) * connectionsPerWorker + 20);
  const server = await startPostgres({ settings: { max_connections: connections } });
  try {
    screen.say(
      `${count(tenants)} tenants on ${workers} processes: heartbeat ${duration(heartbeatMs)}, TTL ${duration(ttlMs)}, ownership tick ${duration(tickMs)}.`,
    );
    const outcome = await show(options, { url: server.url, screen, signal });
    if (isJson) process.stdout.write(`${JSON.stringify({ tenants, ...outcome }, null, 2)}\n`);
    tell(screen, tenants, outcome);
    if (outcome.breaches.length > 0) process.exitCode = 1;
  } finally {
    screen.close();
    await server.stop();
  }
}

async function show(
  { tenants, workers, tickMs }: ExampleOptions,
  { url, screen, signal }: { url: string; screen: Screen; signal: AbortSignal },
): Promise<Outcome> {
  const lh = await connect({ logger: false, url, schema: "leasehold", connectionsMax: 2 });
  const witness = new Witness(tenantNames(tenants));
  const fleet = new Fleet({ url, tenants, tickMs }, witness);
  const fromMs = nowMs();
  const spread = (): Spread => spreadOf(witness.owners, fleet.ids);
  try {
    await lh.migrate();
    screen.show({ table: () => tableOf(spread()), line: () => lineOf(spread()) });
    const steps: Step[] = [];
    for await (const step of new Show({ lh, fleet, witness, tenants, signal }).steps(workers)) {
      steps.push(step);
      screen.say(stepLine(step));
    }
    const breaches = witness.breaches(await runningRows(lh));
    screen.close();
    await fleet.stopAll();
    return { steps, breaches: [...breaches, ...fleet.complaints], tookMs: nowMs() - fromMs };
  } finally {
    screen.close();
    await fleet.stopAll();
    await lh.close();
  }
}

async function runningRows(
  lh: Leasehold,
): Promise<ReadonlyMap<string, { readonly owner: string; readonly token: bigint }>> {
  const sql = "select tenant, owner, token::text from leasehold.tenant_leases where state = 'running'";
  const { rows } = await lh.transaction(async (tx) => await tx.query(sql));
  return new Map(
    (rows as readonly { tenant: string; owner: string; token: string }[]).map(({ tenant, owner, token }) => [
      tenant,
      { owner, token: BigInt(token) },
    ]),
  );
}

function tell(screen: Screen, tenants: number, { breaches, tookMs }: Outcome): void {
  if (breaches.length === 0)
    screen.say(
      `After ${duration(tookMs)}: each of ${count(tenants)} tenants ran on one worker, never on two at a time, and its row said so. All workers have drained.`,
    );
  for (const breach of breaches.slice(0, breachesShown)) screen.say(`WRONG: ${breach}`);
  if (breaches.length > breachesShown) screen.say(`WRONG: and ${breaches.length - breachesShown} more.`);
}

await main();
