import { setTimeout as sleep } from "node:timers/promises";
import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const crashesMin = 2;

export const poisonJob: Drill = Object.freeze({
  name: "poison-job",
  summary: "a job kills every worker that runs it",
  incident:
    "An invoice without pages kills the process that renders it. A supervisor starts the process again, and the next worker takes the job.",
  expected: "poison_job",
  learned: [
    "A job that kills its process is a cause; dead workers and restart loops are its consequences.",
    "After maxCrashes (5) it is a dead letter and stops by itself. Until then it runs alone on its worker.",
    "Fix the handler first, then redrive the job if it is a dead letter.",
  ],
  links: ["docs/doctor.md#poison_job", "docs/workers.md", "docs/operating.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  const supervised = ["web-1", "web-2", "web-3"].map((worker) => new Supervised(stage, worker));
  await stage.untilWorking(supervised.map((one) => one.id));
  stage.startLoad({
    perSecond: 10,
    waitingMax: 300,
    make: (n) => ({ kind: "receipt.send", payload: { ms: 100 }, partitionKey: `order:${n % 60}` }),
  });
  const { id } = await stage.inbox.enqueue("invoice.render", { pages: 0 }, { partitionKey: "customer:17" });
  await stage.until(`the job has killed ${crashesMin} workers`, async () => {
    const job = await stage.inbox.get(id);
    return job !== null && job.crashes >= crashesMin;
  });
  return {
    symptom: "Worker processes end without a word and are started again.",
    steps: [
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: "poison_job comes first and names the job. worker_died and restart_loop, if they are there, are its consequences.",
      },
      {
        asks: "What is in the job?",
        command: ["jobs", "get", "inbox", id],
        read: "Attempts that ended as crashes, and the payload: an invoice without pages.",
      },
      {
        asks: "Is it still running?",
        command: ["jobs", "why", "inbox", id],
        read: "It is running, it waits for its next attempt, or it is a dead letter already.",
      },
      {
        asks: "Which workers were started again?",
        command: ["history", "--newer", "10m", "--kind", "worker:joined"],
        read: "The same worker joined again and again: starts counts it, and each time because it starts.",
      },
    ],
    fix: async () => {
      await Promise.all(supervised.map((one) => one.stop()));
      await stage.startWorkers(["web-4", "web-5", "web-6"], { release: "fixed" });
      const redriven = await stage.inbox.retry({ ids: [id] });
      const again = redriven === 0 ? "" : ", and redrove the job, which was a dead letter";
      return `deployed a release whose handler takes an invoice without pages${again}.`;
    },
    verify: async () => {
      await stage.until(
        "the job is completed",
        async () => {
          const job = await stage.inbox.get(id);
          return job === null || job.status === "completed";
        },
        limits.fixMs,
      );
      return "The job is completed, so its key runs again.";
    },
  };
}

/** A worker of the broken release that is started again whenever it ends, as systemd or Kubernetes do it. */
class Supervised {
  readonly #stage: Stage;
  readonly id: string;
  #current: ReturnType<Stage["startWorker"]>;
  #restarts = 0;
  #isStopped = false;

  constructor(stage: Stage, id: string) {
    this.#stage = stage;
    this.id = id;
    this.#current = this.#start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#current.drain();
  }

  #start(): ReturnType<Stage["startWorker"]> {
    const worker = this.#stage.startWorker(this.id, { release: "broken" });
    void worker.ended.then(() => this.#restart());
    return worker;
  }

  async #restart(): Promise<void> {
    if (this.#restarts >= limits.restartsMax) {
      this.#stage.note(`${this.id} was started again ${limits.restartsMax} times, and is not any more.`);
      return;
    }
    await sleep(limits.restartPauseMs);
    if (this.#isStopped || this.#stage.isStopped) return;
    this.#restarts++;
    this.#current = this.#start();
  }
}
