import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Leasehold, type Queue } from "../../src/index.js";
import { arrivalTimes } from "../../src/tuning/model/arrivals.js";
import { Dice } from "../../src/tuning/model/dice.js";
import { factsOf } from "../../src/tuning/recommend.js";
import type { Cluster, Recommendation, Workload } from "../../src/tuning.js";
import { percentile } from "../percentile.js";

export interface Case {
  readonly name: string;
  readonly cluster: Cluster;
  readonly workload: Workload;
}

export interface Figures {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Measured {
  readonly jobs: number;
  readonly lag: Figures;
  /** As they were, on a machine that does other things too. */
  readonly handlers: Figures;
  /** Enqueues of one job into another queue meanwhile. */
  readonly statements: Figures;
}

const warmUpMs = 3_000;

/** Real workers on a real server, jobs that arrive and take as long as the model says; from the enqueue call to the start of the handler. */
export async function measureLag(
  url: string,
  { cluster, workload }: Case,
  plan: { readonly recommended: Recommendation; readonly seconds: number; readonly queue: string },
): Promise<Measured> {
  const facts = factsOf(cluster, workload);
  const { keys, hottestKeyShare } = facts.workload;
  const { options, settings } = plan.recommended;
  const dice = new Dice(11);
  const startedAtMs = new Map<number, number>();
  const handlerMs: number[] = [];
  const handle = async (job: { readonly payload: unknown }): Promise<void> => {
    const beganMs = performance.now();
    startedAtMs.set((job.payload as { n: number }).n, beganMs);
    await sleep(facts.times.sample(dice.normal()));
    handlerMs.push(performance.now() - beganMs);
  };
  const fleet = await Promise.all(
    Array.from({ length: settings.workers }, (_, n) =>
      connect({ url, workerId: `${plan.queue}-${n}`, ...options.connect }),
    ),
  );
  const [first] = fleet;
  if (first === undefined) throw new RangeError("There is no worker.");
  await first.migrate();
  await first.queue(plan.queue, options.queue);
  const running = fleet.map((lh: Leasehold) =>
    lh.worker(plan.queue, { tuned: handle }, { ...options.worker, handlesSignals: false }),
  );
  for (const worker of running) await worker.start();
  const producer = await connect({ url, workerId: `${plan.queue}-producer` });
  const inbox = await producer.queue(plan.queue);
  const limits = { endMs: warmUpMs + plan.seconds * 1_000, jobsMax: 200_000 };
  const times = arrivalTimes(facts.workload, new Dice(12), limits);
  const keyOf = (): string =>
    `key-${keys === 1 || dice.fraction() < hottestKeyShare ? 0 : 1 + dice.whole(keys - 1)}`;
  const over = new AbortController();
  const probed = probe(await producer.queue(`${plan.queue}_probe`, { order: "none" }), over.signal);
  const enqueuedAtMs = await produce(inbox, times, keyOf);
  await until(() => startedAtMs.size === times.length);
  over.abort();
  const statementMs = await probed;
  await Promise.all(running.map((worker) => worker.stop()));
  await Promise.all([...fleet, producer].map((lh) => lh.close()));
  const lags = [...enqueuedAtMs].flatMap(([n, atMs]) =>
    (times[n] ?? 0) < warmUpMs ? [] : [(startedAtMs.get(n) ?? Number.NaN) - atMs],
  );
  return {
    jobs: lags.length,
    lag: figures(lags),
    handlers: figures(handlerMs),
    statements: figures(statementMs),
  };
}

function figures(values: readonly number[]): Figures {
  return { p50Ms: percentile(values, 0.5), p99Ms: percentile(values, 0.99) };
}

async function probe(queue: Queue, signal: AbortSignal): Promise<readonly number[]> {
  const tookMs: number[] = [];
  while (!signal.aborted) {
    const beganMs = performance.now();
    await queue.enqueue("probe", {});
    tookMs.push(performance.now() - beganMs);
    await sleep(25);
  }
  return tookMs;
}

/** Each at its time, or as soon as this process comes to it; the time of the call counts. */
async function produce(
  queue: Queue,
  times: Float64Array,
  keyOf: () => string,
): Promise<ReadonlyMap<number, number>> {
  const called = new Map<number, number>();
  const calls: Promise<unknown>[] = [];
  const beganMs = performance.now();
  for (const [n, atMs] of times.entries()) {
    const waitMs = beganMs + atMs - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    called.set(n, performance.now());
    calls.push(queue.enqueue("tuned", { n }, { partitionKey: keyOf() }));
  }
  await Promise.all(calls);
  return called;
}

async function until(isTrue: () => boolean): Promise<void> {
  const limitMs = performance.now() + 60_000;
  while (!isTrue() && performance.now() < limitMs) await sleep(20);
}
