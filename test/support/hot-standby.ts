import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startStandby } from "../../chaos/standby.js";
import type { PostgresServer, StartPostgresOptions } from "../../src/embedded.js";
import { connect, type Leasehold, type Queue } from "../../src/index.js";
import { ask, folderForTest, startForTest } from "../embedded/server-world.js";
import { until } from "../worker/worker-world.js";

/** A primary with a migrated schema and the queue inbox, and a hot standby that streams from it. All of it ends with the test. */
export interface Pair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** On the primary, without a replica. */
  readonly lh: Leasehold;
  readonly inbox: Queue;
  /** Resolves when the standby has replayed what is committed on the primary now. */
  untilReplayed(): Promise<void>;
}

/** `streamFrom` makes the URL from which the standby streams, when that is not the primary itself. */
export async function hotStandby(
  streamFrom: (primary: string) => Promise<string> = (url) => Promise.resolve(url),
  options: StartPostgresOptions = {},
): Promise<Pair> {
  const folder = folderForTest();
  const primary = await startForTest({ ...options, dataDirectory: join(folder, "primary") });
  const lh = await connect({ url: primary.url, logger: false });
  onTestFinished(() => lh.close());
  await lh.migrate();
  const inbox = await lh.queue("inbox", { order: "key" });
  const standby = await startStandby(primary, join(folder, "standby"), await streamFrom(primary.url));
  onTestFinished(() => standby.stop("immediate"));
  const untilReplayed = async (): Promise<void> => {
    const lsn = await ask(primary.url, "select pg_current_wal_lsn()");
    const isThere = `select pg_last_wal_replay_lsn() >= '${lsn}'`;
    await until("the standby has replayed it", async () => (await ask(standby.url, isThere)) === "true");
  };
  await untilReplayed();
  return { primary, standby, lh, inbox, untilReplayed };
}
