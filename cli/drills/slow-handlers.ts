import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const jobMs = 3_000;
const slots = 4;
const lateMs = 15_000;

export const slowHandlers: Drill = Object.freeze({
  name: "slow-handlers",
  summary: "a partner answers slowly, and every slot is busy",
  incident: `A partner takes ${jobMs / 1_000} s for each report. Two workers with ${slots} slots each run fewer reports than come in.`,
  expected: "slow_handlers",
  learned: [
    "Busy slots and a growing wait mean that handlers can't keep up. Free slots and a growing wait mean something else, such as a hot key.",
    "Handlers that wait for a partner cost little CPU: raise concurrency, or add workers.",
    "Workers share the keys evenly, however many slots each has: give all of them the same concurrency.",
    "leasehold tune gives the number of workers for a rate and a duration.",
  ],
  links: ["docs/doctor.md#slow_handlers", "docs/workers.md", "docs/tuning.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  const small = await stage.startWorkers(["web-1", "web-2"], { concurrency: slots });
  stage.startLoad({
    perSecond: 6,
    waitingMax: 150,
    make: (n) => ({ kind: "report.build", payload: { ms: jobMs }, partitionKey: `report:${n}` }),
  });
  await stage.until("reports are late", async () => {
    const { oldestDueAt } = await stage.inbox.stats();
    return oldestDueAt !== null && Date.now() - oldestDueAt.getTime() > lateMs;
  });
  return {
    symptom: "Reports come later and later.",
    steps: [
      {
        asks: "Is the queue late, and are there workers?",
        command: ["status"],
        read: `Two workers are alive, RUNNING is about ${2 * slots}, and OLDEST grows.`,
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: "slow_handlers: every slot is busy. It names the kind that takes most of the time.",
      },
      {
        asks: "What do the workers hold?",
        command: ["runbook", "who-holds-what"],
        read: `oldest_claim_s is near ${jobMs / 1_000}, the time of one report: nothing hangs.`,
      },
    ],
    fix: async () => {
      await stage.startWorkers(["web-3", "web-4"], { concurrency: 6 * slots });
      await Promise.all(small.map((worker) => worker.drain()));
      return `raised concurrency from ${slots} to ${6 * slots}: started two workers with it, and drained the two small ones.`;
    },
    verify: async () => {
      await stage.until(
        "few reports wait",
        async () => (await stage.inbox.stats()).due < 2 * slots,
        limits.fixMs,
      );
      return "The backlog is gone.";
    },
  };
}
