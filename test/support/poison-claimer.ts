import { connect } from "../../src/index.js";
import { fastClock } from "./fast-clock.js";

/**
 * A claimer in a process of its own: claims up to 501 rows ahead, runs eight at a time, and is killed outright by a row of the kind
 * "poison". Ends by itself when the queue is empty or has only dead letters.
 */
const [url = "", schema = "", workerId = "", start = "0"] = process.argv.slice(2);
const slots = 8;

const lh = await connect({ url, schema, logger: false, clock: fastClock(50, Number(start)) });
const inbox = await lh.queue("inbox");
for (;;) {
  const jobs = await inbox.claim({ workerId, limit: 501, retries: slots, leaseMs: 20_000 });
  const waiting = [...jobs];
  await Promise.all(
    Array.from({ length: slots }, async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (job.kind === "poison") process.kill(process.pid, "SIGKILL");
        await inbox.complete(job);
      }
    }),
  );
  const { pending, processing, scheduled } = await inbox.stats();
  if (pending + processing + scheduled === 0) break;
  if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
await lh.close();
