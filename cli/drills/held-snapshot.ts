import { setTimeout as sleep } from "node:timers/promises";
import type { Finding } from "../../src/index.js";
import type { Drill, Incident } from "./drill.js";
import { limits } from "./limits.js";
import type { Stage } from "./stage.js";

const deadRowsMin = 2_000;
/** doctor warns of a snapshot that has been held for a minute. */
const heldMs = 61_000;
/** More often than idle_in_transaction_session_timeout. */
const askEveryMs = 10_000;

export const heldSnapshot: Drill = Object.freeze({
  name: "held-snapshot",
  summary: "a forgotten transaction keeps dead rows from being removed",
  incident:
    "A report holds a repeatable read transaction open. Vacuum can't remove any row that was finished since, so dead rows grow.",
  expected: "held_snapshot",
  learned: [
    "A queue makes a dead row for each finished job. Only vacuum removes them, and only when no snapshot can still see them.",
    "Bloat and slow claims are the consequence; end the transaction first, then look again.",
    "idle_in_transaction_session_timeout, and reports on a replica, prevent it.",
  ],
  links: ["docs/doctor.md#held_snapshot", "docs/runbook.md#held-snapshots", "docs/performance.md"],
  begin,
});

async function begin(stage: Stage): Promise<Incident> {
  let before = 0;
  await stage.startWorkers(["web-1", "web-2"]);
  stage.startLoad({
    perSecond: 80,
    waitingMax: 400,
    make: (n) => ({ kind: "receipt.send", payload: { ms: 5 }, partitionKey: `order:${n % 500}` }),
  });
  const session = await holdSnapshot(stage);
  const startedAt = performance.now();
  let deadRows = 0;
  await stage.until("the snapshot is a minute old and dead rows have grown", async () => {
    deadRows = await deadRowsOf(stage);
    return performance.now() - startedAt > heldMs && deadRows > deadRowsMin;
  });
  return {
    symptom: `The table of inbox has ${deadRows} dead rows, and vacuum does not remove them.`,
    steps: [
      {
        asks: "Is the queue late?",
        command: ["status"],
        read: "It need not be late yet: dead rows cost a little more with each finished job.",
      },
      {
        asks: "What is wrong?",
        command: ["doctor"],
        read: "held_snapshot names the session, for how long, and the statement that ends it.",
      },
      {
        asks: "Who is it, and what does it run?",
        command: ["runbook", "held-snapshots"],
        read: "idle in transaction: the client forgot to commit. application tells you which program it is.",
      },
      {
        asks: "How many dead rows are there?",
        command: ["runbook", "bloat"],
        read: "dead_rows of the table inbox, beside its live rows. last_vacuum_at is recent: vacuum runs, and can't remove them.",
      },
    ],
    fix: async (finding: Finding) => {
      const [statement] = /select pg_terminate_backend\(\d+\)/.exec(finding.advice) ?? [];
      if (statement === undefined)
        throw stage.failure(`The advice has no statement that ends the session: ${finding.advice}`);
      before = await deadRowsOf(stage);
      await stage.lh.transaction(async (tx) => void (await tx.query(statement)));
      await stage.until("the session of the report is gone", async () => session.isEnded(), limits.sessionMs);
      return `${statement}. The client got an error, and its transaction is gone.`;
    },
    verify: async () => {
      await stage.until(
        "vacuum has removed dead rows",
        async () => (await deadRowsOf(stage)) < before / 2,
        limits.fixMs,
      );
      return `Vacuum has removed dead rows: there were ${before}, and now there are ${await deadRowsOf(stage)}.`;
    },
  };
}

/** A session that looks once and then neither commits nor rolls back. */
async function holdSnapshot(stage: Stage): Promise<{ isEnded(): boolean }> {
  const url = `${stage.url}${stage.url.includes("?") ? "&" : "?"}application_name=nightly-report`;
  const report = await stage.connect({ url });
  let isEnded = false;
  return await new Promise((resolve, reject) => {
    void report
      .transaction(async (tx) => {
        await tx.query("set transaction isolation level repeatable read");
        await tx.query("select count(*) from leasehold.inbox");
        resolve({ isEnded: () => isEnded });
        for (let askedAt = performance.now(); !stage.isStopped; await sleep(limits.lookMs)) {
          if (performance.now() - askedAt < askEveryMs) continue;
          await tx.query("select count(*) from leasehold.inbox");
          askedAt = performance.now();
        }
      })
      .catch(reject) // It is cut off on purpose: by then nobody listens.
      .finally(() => {
        isEnded = true;
      });
  });
}

async function deadRowsOf({ lh }: Stage): Promise<number> {
  const { rows } = await lh.runbook("bloat", { queue: "inbox" });
  const row = rows.find(({ table_name }) => String(table_name).endsWith("inbox"));
  return Number(row?.dead_rows ?? 0);
}
