import { chown, lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { baseBackup, promote, startStandby } from "../../chaos/standby.js";
import { ask, folderForTest, startForTest } from "../embedded/server-world.js";
import { cuttingProxy } from "../support/cutting-proxy.js";
import { until } from "../worker/worker-world.js";
import { downstream, expectFenced, open, work } from "./downstream.js";

test("restored to a point in time: tokens rise by themselves", async () => {
  const folder = folderForTest();
  const archive = join(folder, "archive");
  const primary = await startForTest({
    dataDirectory: join(folder, "primary"),
    settings: { archive_mode: "on", archive_command: `cp %p ${archive}/%f` },
  });
  const { uid, gid } = await lstat(join(primary.dataDirectory, "data"));
  await mkdir(archive);
  await chown(archive, uid, gid);

  const fence = await downstream();
  const before = await open(primary.url);
  await work(before.inbox, fence, 3);
  await baseBackup(primary, join(folder, "restored"));
  await ask(primary.url, "select pg_create_restore_point('here')");
  const zombie = await work(before.inbox, fence);
  const segment = await ask(primary.url, "select pg_walfile_name(pg_switch_wal())");
  const archived = `select coalesce(last_archived_wal >= '${segment}', false) from pg_stat_archiver`;
  await until("the log is archived", async () => (await ask(primary.url, archived)) === "true");
  await primary.stop("immediate");

  await writeFile(join(folder, "restored", "data", "recovery.signal"), "");
  const restored = await startForTest({
    dataDirectory: join(folder, "restored"),
    settings: {
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_name: "here",
      recovery_target_action: "promote",
    },
  });
  await until(
    "it has been promoted",
    async () => (await ask(restored.url, "select pg_is_in_recovery()")) === "false",
  );
  const after = await open(restored.url);
  await expectFenced(after.inbox, fence, zombie);
});

test("a standby that was behind is promoted: tokens rise by themselves", async () => {
  const folder = folderForTest();
  const primary = await startForTest({ dataDirectory: join(folder, "primary") });
  const fence = await downstream();
  const before = await open(primary.url);
  await work(before.inbox, fence, 3);
  const stream = await cuttingProxy(primary.url);
  const standby = await startStandby(primary, join(folder, "standby"), stream.url);
  onTestFinished(() => standby.stop("immediate"));
  await stream.close();
  await until(
    "the standby hears nothing",
    async () => (await ask(primary.url, "select count(*) from pg_stat_replication")) === "0",
  );
  const zombie = await work(before.inbox, fence);
  await primary.stop("immediate");

  await promote(standby);
  const after = await open(standby.url);
  await expectFenced(after.inbox, fence, zombie);
  expect(await ask(standby.url, "select timeline from leasehold.schema_place")).toBe("2");
});
