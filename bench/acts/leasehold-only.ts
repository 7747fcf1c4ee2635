import { connect } from "../../src/index.js";
import { nowMs } from "../clock.js";
import { LeaseholdSystem, queueName, schema } from "../systems/leasehold.js";
import type { Acts, Context } from "./act.js";

export const claims: Acts["claims"] = async (context, { queue: name, rows, warmUp, count }) => {
  const queue = await leaseholdOf(context).createQueue(name);
  const times = new Float64Array(count);
  for (let i = -warmUp; i < count; i++) {
    const startMs = nowMs();
    const jobs = await queue.claim({ workerId: "bench", limit: rows });
    if (i >= 0) times[i] = nowMs() - startMs;
    if (jobs.length !== rows) throw new Error(`A claim brought ${jobs.length} rows instead of ${rows}.`);
    await queue.settle(jobs.map((job) => ({ job, outcome: { is: "release" } })));
  }
  return times;
};

export const crowd: Acts["crowd"] = async (context, { workers }) => {
  const { settings } = context.variant;
  let handled = 0;
  const forGood = new Promise<void>(() => {});
  const work = (): Promise<void> => {
    handled++;
    context.report(handled);
    return forGood;
  };
  for (let i = 0; i < workers; i++) {
    const lh = await connect({ url: context.url, schema, logger: false, workerId: `crowd-${i}` });
    const options = { concurrency: Number(settings.concurrency), handlesSignals: false };
    await lh.worker(queueName, { work }, options).start();
  }
  return null;
};

function leaseholdOf({ system }: Context): LeaseholdSystem {
  if (system instanceof LeaseholdSystem) return system;
  throw new Error("Only Leasehold can do this.");
}
