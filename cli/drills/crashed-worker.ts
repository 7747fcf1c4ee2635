import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const victim = "web-2";

export const crashedWorker: Drill = Object.freeze({
  name: "crashed-worker",
  summary: "a worker process is killed in the middle of its jobs",
  incident:
    "One of three worker processes is killed with SIGKILL while it runs jobs, as by the out-of-memory killer.",
  expected: "worker_died",
  staysListed: "ten minutes, because that is how far back it reads the history",
  learned: [
    "A crash needs no action for the jobs: other workers take them over, within 3 s when the session is seen to end.",
    "A job that was running is run again. Effects that must happen once belong into job.transaction.",
    "What needs you is the reason: read the log of the process, its exit code and its memory limit.",
  ],
  links: ["docs/doctor.md#worker_died", "docs/workers.md", "docs/runbook.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  const workers = await stage.startWorkers(["web-1", victim, "web-3"]);
  stage.startLoad({
    perSecond: 20,
    waitingMax: 200,
    make: (n) => ({ kind: "receipt.send", payload: { ms: 500 }, partitionKey: `order:${n % 60}` }),
  });
  let heldBefore: Awaited<ReturnType<typeof heldBy>> = [];
  await stage.until(`${victim} runs jobs`, async () => {
    heldBefore = await heldBy(stage);
    return heldBefore.length > 0;
  });
  await workers.find(({ id }) => id === victim)?.kill();
  const heldAfter = await heldBy(stage);
  // On a slow machine the others may have taken all of it over before we looked.
  const held = heldAfter.length > 0 ? heldAfter : heldBefore;
  stage.note(`Killed ${victim} with SIGKILL; it held ${held.length} jobs.`);
  await stage.until(`the others have noticed that ${victim} is gone`, async () =>
    (await stage.lh.workers()).some(({ id, state }) => id === victim && state === "dead"),
  );
  const [{ partitionKey: key = "order:1" } = {}] = held;
  return {
    symptom: `The process of ${victim} is gone. It held ${held.length} jobs, one of them of the key ${key}.`,
    steps: [
      {
        asks: "Is work piling up?",
        command: ["status"],
        read: "Two workers are alive. A problem here would be jobs that nobody can take; after a crash there is none.",
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: `worker_died names ${victim}. Read the first finding first: later ones are often its consequences.`,
      },
      {
        asks: "When did it die, and where did its buckets go?",
        command: ["history", "--newer", "10m"],
        read: "The rule session says that its connection ended, which others see within 3 s. The rule ttl would mean 30 s of silence.",
      },
      {
        asks: `Who works on the key ${key} now?`,
        command: ["ring", "inbox", "--key", key ?? ""],
        read: `Its bucket has another owner. The jobs that ${victim} held were claimed again by that one.`,
      },
    ],
    fix: async () => {
      await stage.startWorkers(["web-4"]);
      return "started web-4 in its place. The jobs needed nothing: the others had taken them over.";
    },
    verify: async () => {
      const ids = held.map(({ id }) => id);
      await stage.until(
        `the ${ids.length} jobs that ${victim} held are completed`,
        async () => {
          const jobs = await Promise.all(ids.map((id) => stage.inbox.get(id)));
          return jobs.every((job) => job === null || job.status === "completed");
        },
        limits.fixMs,
      );
      return `All ${ids.length} jobs that ${victim} held are completed, so their keys run again.`;
    },
  };
}

async function heldBy(
  stage: Stage,
): Promise<readonly { readonly id: string; readonly partitionKey: string | null }[]> {
  const { jobs } = await stage.inbox.search({ status: "processing", workerId: victim });
  return jobs;
}
