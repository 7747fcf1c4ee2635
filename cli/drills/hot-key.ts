import type { Finding } from "../../src/index.js";
import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { LoadShape } from "./load.js";
import type { Stage } from "./stage.js";

const key = "tenant:acme";
const jobMs = 60;
const lateMs = 12_000;

export const hotKey: Drill = Object.freeze({
  name: "hot-key",
  summary: "one tenant has more jobs than one key can run",
  incident: `The tenant ${key} adds more jobs than can run one after another. All of them have the same partition key.`,
  expected: "hot_key",
  learned: [
    "The jobs of a key run one after another, so one key uses one slot, however many workers there are.",
    "More workers do not help a hot key. Spread it with shardKey(), or make its handler faster.",
    "Jobs that are in the line already keep their key: the line has to run empty.",
  ],
  links: ["docs/doctor.md#hot_key", "docs/ordering.md", "docs/runbook.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  await stage.startWorkers(["web-1", "web-2"]);
  const others = stage.startLoad(ofOthers());
  const hot = stage.startLoad({
    perSecond: 100,
    waitingMax: 300,
    make: () => ({ kind: "receipt.send", payload: { ms: jobMs }, partitionKey: key }),
  });
  await stage.until(`the jobs of ${key} are late`, () => isLate(stage));
  return {
    symptom: `${key} complains that its receipts are late. Other tenants do not.`,
    steps: [
      {
        asks: "Is the queue late, and are there workers?",
        command: ["status"],
        read: "Jobs are due for seconds, both workers are alive, and few jobs run: the slots are free.",
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: "hot_key names the key and its share of what is due.",
      },
      {
        asks: "How much do the largest keys have?",
        command: ["runbook", "hot-keys"],
        read: `The line of ${key} is far longer than any other.`,
      },
      {
        asks: "Who works on it?",
        command: ["ring", "inbox", "--key", key],
        read: "One worker owns the key. It would not be faster on another one.",
      },
    ],
    fix: async ({ evidence }: Finding) => {
      const { shardKey } = await import("../../src/index.js");
      const hotKeyFound = String(evidence.partitionKey);
      await hot.stop();
      await others.stop();
      stage.startLoad(ofOthers((n) => shardKey(hotKeyFound, `order:${n}`)));
      return `new jobs of ${hotKeyFound} have one of eight keys, shardKey("${hotKeyFound}", order). Those in the line keep the old key.`;
    },
    verify: async () => {
      await stage.until(
        `the old line of ${key} has run empty`,
        async () => (await unfinished(stage)) === 0,
        limits.fixMs,
      );
      return `The old line of ${key} has run empty.`;
    },
  };
}

async function unfinished({ inbox }: Stage): Promise<number> {
  return (await inbox.list({ partitionKey: key })).filter(({ status }) => status !== "completed").length;
}

/** Steady work of many keys; every second job may be the tenant's, under keys of its own. */
function ofOthers(keyOfTenant: ((n: number) => string) | null = null): LoadShape {
  return {
    perSecond: 10,
    waitingMax: 500,
    make: (n) => ({
      kind: "receipt.send",
      payload: { ms: jobMs },
      partitionKey: keyOfTenant !== null && n % 2 === 0 ? keyOfTenant(n) : `order:${n % 200}`,
    }),
  };
}

async function isLate({ inbox }: Stage): Promise<boolean> {
  const { oldestDueAt } = await inbox.stats();
  return oldestDueAt !== null && Date.now() - oldestDueAt.getTime() > lateMs;
}
