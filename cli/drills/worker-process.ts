import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../src/index.js";
import type { WorkerSettings } from "./drill-worker.js";

/** The worker process of a drill. It ends with the drill: when that ends, its end of the pipe closes. */
const { id, url, directUrl, concurrency, release } = JSON.parse(
  process.env.LEASEHOLD_DRILL_WORKER ?? "{}",
) as WorkerSettings;

process.stdin.once("end", () => process.exit(1)).resume();

const lh = await connect({
  url,
  schema: "leasehold",
  workerId: id,
  logger: "pretty",
  ...(directUrl === undefined ? {} : { directUrl }),
});

interface Jobs {
  /** Takes so long. */
  readonly "receipt.send": { readonly ms: number };
  /** The same, by a slow partner. */
  readonly "report.build": { readonly ms: number };
  /** The broken release crashes on an invoice without pages. */
  readonly "invoice.render": { readonly pages: number };
}

const inbox = await lh.queue<Jobs>("inbox");
const worker = lh.worker(
  inbox,
  {
    "receipt.send": async ({ payload }) => await sleep(payload.ms),
    "report.build": async ({ payload }) => await sleep(payload.ms),
    "invoice.render": ({ payload }) => {
      // As the out-of-memory killer does it: nothing can be caught.
      if (payload.pages === 0 && release === "broken") process.kill(process.pid, "SIGKILL");
    },
  },
  { concurrency },
);
await worker.start();
