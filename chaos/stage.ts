import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { recorderSql } from "../simulation/engine/recorder.js";
import { connect } from "../src/index.js";
import { offsetSql } from "./server-clock.js";
import { buckets, maxCrashes, queueName, schema } from "./settings.js";

const endMsMax = 180_000;
/** A busy machine takes longer; as long as jobs end, none of them is stuck. */
const doneMsMax = 1_200_000;

/** Makes the queue, the roles, and the triggers that record what becomes of its rows. In a strict queue the order of commits is the order of the line. */
export async function prepare(url: string, { strict }: { readonly strict: boolean }): Promise<void> {
  const lh = await connect({ url, schema, logger: false });
  await lh.migrate();
  await lh.queue(queueName, { order: "key", buckets, strict, maxCrashes });
  await lh.grant();
  await lh.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(recorderSql(schema, queueName, "all"));
  await client.query(offsetSql);
  await client.end();
}

/** Until nothing is left to do, or until no job has ended for some minutes. */
export async function untilDone(url: string): Promise<void> {
  const untilMs = performance.now() + doneMsMax;
  let fewest = Number.POSITIVE_INFINITY;
  let movedAtMs = performance.now();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    while (performance.now() < Math.min(untilMs, movedAtMs + endMsMax)) {
      await sleep(1_000);
      const { rows } = await client.query<{ open: number }>(
        `select count(*)::int as open from ${schema}.${queueName} where finished_at is null`,
      );
      const open = rows[0]?.open ?? 0;
      if (open === 0) return;
      if (open >= fewest) continue;
      [fewest, movedAtMs] = [open, performance.now()];
    }
  } finally {
    await client.end();
  }
}

/** Tells producers and others to stop, and waits until the last answer has come. Returns how many never had theirs, and were killed. */
export async function stopActors(actors: readonly ChildProcess[]): Promise<number> {
  let killed = 0;
  await Promise.all(
    actors.map(async (actor) => {
      if (actor.exitCode !== null || actor.signalCode !== null) return;
      const exited = once(actor, "exit");
      actor.send("stop", () => {});
      const timer = setTimeout(() => {
        killed++;
        actor.kill("SIGKILL");
      }, endMsMax);
      await exited;
      clearTimeout(timer);
    }),
  );
  return killed;
}
