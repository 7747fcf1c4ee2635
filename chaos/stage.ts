import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { recorderSql } from "../simulation/engine/recorder.js";
import { connect } from "../src/index.js";
import { offsetSql } from "./server-clock.js";
import { buckets, maxCrashes, queueName, schema } from "./settings.js";

const endMsMax = 180_000;

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

/** Until nothing is left to do, or for as long as it may take. */
export async function untilDone(url: string): Promise<void> {
  const untilMs = performance.now() + endMsMax;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    while (performance.now() < untilMs) {
      await sleep(1_000);
      const { rows } = await client.query<{ open: boolean }>(
        `select exists (select 1 from ${schema}.${queueName} where finished_at is null) as open`,
      );
      if (rows[0]?.open === false) return;
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
