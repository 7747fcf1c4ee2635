import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const grey = "web-2";
const role = "shop_worker";
const password = "drill";

export const greyWorker: Drill = Object.freeze({
  name: "grey-worker",
  summary: "a worker is alive, and the database refuses its claims",
  incident: `${grey} connects with a role that lacks a right on the table of the queue. It lives and sends heartbeats, but each of its claims is refused.`,
  expected: "worker_failing",
  learned: [
    "A live process need not be a working one. A worker whose claims fail gives up its buckets, and others own them.",
    "leasehold grant gives the roles their rights again; it may be run at any time.",
    "A failing worker tries again by itself, at first every 2 s, then up to every minute.",
  ],
  links: ["docs/doctor.md#worker_failing", "docs/operating.md", "docs/errors.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  await stage.lh.grant();
  await stage.lh.transaction(async (tx) => {
    await tx.query(`create role ${role} login password '${password}' in role leasehold_worker`);
    // What somebody who tightens rights might do.
    await tx.query("revoke update on leasehold.inbox from leasehold_worker");
  });
  await stage.startWorkers(["web-1"]);
  stage.startLoad({
    perSecond: 10,
    waitingMax: 300,
    make: (n) => ({ kind: "receipt.send", payload: { ms: 100 }, partitionKey: `order:${n % 60}` }),
  });
  await stage.startWorkers([grey], { url: as(stage.url) });
  await stage.until(`${grey} finds that its claims fail`, () => isFailing(stage));
  return {
    symptom: `${grey} is up and healthy by its process, and does nothing.`,
    steps: [
      {
        asks: "Is anything late?",
        command: ["status"],
        read: `Nothing waits: web-1 owns all buckets. The problem names ${grey}.`,
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: `worker_failing names ${grey}, what fails, and the error of the database.`,
      },
      {
        asks: "Who owns what?",
        command: ["ring", "inbox", "--key", "order:1"],
        read: `web-1 is the owner, and there is no next one: ${grey} is out of the ring while it fails.`,
      },
    ],
    fix: async () => {
      await stage.lh.grant();
      return `lh.grant(), which is what leasehold grant runs. The process of ${grey} was not touched.`;
    },
    verify: async () => {
      await stage.until(
        `a claim of ${grey} works again`,
        async () => !(await isFailing(stage)),
        limits.fixMs,
      );
      await stage.until(
        `${grey} owns buckets again`,
        async () => (await stage.lh.ring("inbox")).owners.includes(grey),
        limits.fixMs,
      );
      return `${grey} found by itself that its claims work, and owns buckets again.`;
    },
  };
}

async function isFailing({ lh }: Stage): Promise<boolean> {
  const worker = (await lh.workers()).find(({ id }) => id === grey);
  return worker !== undefined && worker.failing.inbox !== undefined;
}

function as(url: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = password;
  return other.href;
}
