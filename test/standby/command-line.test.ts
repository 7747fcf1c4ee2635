import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { ask } from "../embedded/server-world.js";
import { hotStandby } from "../support/hot-standby.js";
import { until } from "../worker/worker-world.js";

test("commands that list ask the replica and say so; commands that judge or act ask the primary", async () => {
  const { primary, standby, inbox, untilReplayed } = await hotStandby();
  const { id } = await inbox.enqueue("k", 1, { delayMs: 3_600_000 });
  await untilReplayed();
  await ask(standby.url, "select pg_wal_replay_pause()");
  const state = "select pg_get_wal_replay_pause_state()";
  await until("replay has stopped", async () => (await ask(standby.url, state)) === "paused");
  await ask(
    primary.url,
    "update leasehold.inbox set status = 'dead_letter', finished_at = now(), last_error = 'boom'",
  );
  const fingerprint = await ask(primary.url, "select leasehold.error_fingerprint('boom')");

  const environment = { DATABASE_URL: primary.url, LEASEHOLD_REPLICA_URL: standby.url };
  const run = (line: string) => leasehold(line.split(" "), { environment });
  // It judges, so it asks the primary.
  expect(JSON.parse((await run("status --json")).stdout)).toMatchObject({
    problems: [{ code: "dead_letters" }],
    queues: [{ source: "primary" }],
  });
  expect((await run(`status --replica-url ${standby.url}`)).exitCode).toBe(2);
  expect(JSON.parse((await run("jobs list inbox --json")).stdout)).toMatchObject({
    jobs: [{ id, status: "scheduled" }],
  });
  expect(JSON.parse((await run("dead --json")).stdout)).toMatchObject({ groups: [] });
  for (const line of ["jobs list inbox", "dead list", "history --json"])
    expect((await run(line)).stderr).toMatch(/^The replica answers; it is .* behind\.\n$/);
  expect(await run(`history --replica-url ${primary.url}`)).toMatchObject({
    stderr: "The replica answers; it is not behind.\n",
  });
  const away = "postgres://nobody@127.0.0.1:1/postgres";
  expect(await run(`history --replica-url ${away}`)).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^The replica is not used, the primary answers: .+\n$/),
  });
  expect(JSON.parse((await run(`jobs get inbox ${id} --json`)).stdout)).toMatchObject({
    status: "dead_letter",
  });
  expect((await run(`dead redrive inbox ${fingerprint} --yes`)).stdout).toContain("Redriven: 1.");
});
