import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const deaf = "web-2";
/** doctor gives a worker ten seconds to open its session. */
const settledMs = 12_000;

export const deafListener: Drill = Object.freeze({
  name: "deaf-listener",
  summary: "a worker can't open its session, so no notification reaches it",
  incident: `The directUrl of ${deaf} leads to a port that is closed. The worker claims through its pool, but it can't LISTEN and can't hold its session lock.`,
  expected: "notifications_off",
  learned: [
    "A worker without a session works, by polling: jobs start later, and its death is noticed by its TTL (30 s) only.",
    "Behind a pooler in transaction mode, or with a wrong directUrl, every worker is like that.",
    "leasehold workers --json has hasSession for each worker.",
  ],
  links: ["docs/doctor.md#notifications_off", "docs/workers.md", "docs/connecting.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  await stage.startWorkers(["web-1"]);
  const [worker] = await stage.startWorkers([deaf], { directUrl: closedWay(stage.url) });
  const startedAt = performance.now();
  stage.startLoad({
    perSecond: 10,
    waitingMax: 200,
    make: (n) => ({ kind: "receipt.send", payload: { ms: 50 }, partitionKey: `order:${n % 60}` }),
  });
  await stage.until(
    `${deaf} works, and has had time to open a session`,
    async () => !(await hasSession(stage, deaf)) && performance.now() - startedAt > settledMs,
  );
  return {
    symptom: `Jobs in the buckets of ${deaf} start late now and then, up to two seconds.`,
    steps: [
      {
        asks: "Is the queue late?",
        command: ["status"],
        read: "No: the worker polls, so nothing waits for long. That is why nobody notices at first.",
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: `notifications_off names ${deaf}.`,
      },
      {
        asks: "Does it work at all?",
        command: ["workers"],
        read: "Both are alive: heartbeats go through the pool.",
      },
    ],
    fix: async () => {
      await worker?.drain();
      await stage.startWorkers(["web-3"], { directUrl: stage.url });
      return `drained ${deaf}, and started web-3 with a directUrl that leads to the server.`;
    },
    verify: async () => {
      await stage.until(
        "the new worker has its session",
        async () => await hasSession(stage, "web-3"),
        limits.fixMs,
      );
      return "web-3 has its session: notifications reach it.";
    },
  };
}

async function hasSession({ lh }: Stage, id: string): Promise<boolean> {
  return (await lh.workers()).find((worker) => worker.id === id)?.hasSession === true;
}

/** Port 1 of this machine: nothing listens there. */
function closedWay(url: string): string {
  const closed = new URL(url);
  closed.port = "1";
  return closed.href;
}
