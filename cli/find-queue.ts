import type { Leasehold, QueueSummary } from "../src/index.js";
import { notFound } from "./failure.js";

/** A queue as it is stored; an unknown name is answered with those that exist. */
export async function findQueue(lh: Leasehold, name: string): Promise<QueueSummary> {
  const queues = await lh.queues();
  const found = queues.find((queue) => queue.name === name);
  if (found !== undefined) return found;
  const names = queues.map((queue) => queue.name).slice(0, 10);
  const advice =
    names.length === 0
      ? `Create it: leasehold queues create ${name} --order key`
      : `There are ${names.join(", ")}.`;
  throw notFound(`There is no queue ${name} in the schema ${lh.schema}.`, advice);
}
