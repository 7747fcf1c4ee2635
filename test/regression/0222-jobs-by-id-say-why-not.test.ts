import { expect, test } from "vitest";
import { leasehold, type Ran } from "../cli/in-process.js";
import { setup, type World } from "../support/world.js";

/** `jobs redrive` and `jobs discard` by ids told a number, and not which jobs they had left as they were, or why. */

const nobody = "01890a5d-ac96-774b-bcce-b302099a8057";

function runner({ url, schema }: World): (...words: string[]) => Promise<Ran> {
  return (...words) =>
    leasehold(["jobs", ...words], { environment: { DATABASE_URL: url, LEASEHOLD_SCHEMA: schema } });
}

interface Staged {
  readonly world: World;
  readonly dead: string;
  readonly running: string;
  readonly pending: string;
  readonly completed: string;
}

async function staged(): Promise<Staged> {
  const world = await setup();
  const queue = await world.queue();
  const [completed, dead, running] = await Promise.all(
    ["completed", "dead", "running"].map((kind) => queue.enqueue(kind, {}, { maxAttempts: 1 })),
  );
  for (const job of await queue.claim({ workerId: "web-1" })) {
    if (job.kind === "completed") await queue.complete(job);
    if (job.kind === "dead") await queue.fail(job, new Error("no"));
  }
  const pending = await queue.enqueue("pending", {});
  const ids = { dead: dead?.id ?? "", running: running?.id ?? "", completed: completed?.id ?? "" };
  return { world, pending: pending.id, ...ids };
}

test("a redrive by ids names the jobs that it can't change, and why", async () => {
  const { world, dead, running, pending, completed } = await staged();
  const run = runner(world);
  const all = [dead, running, pending, completed, nobody];
  const asked = await run("redrive", "inbox", ...all);
  expect(asked.stderr).toContain("This redrives 1 job of inbox; 4 can't be changed. Nothing was done");
  const ran = await run("redrive", "inbox", ...all, "--yes");
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ran.stdout.split("\n").sort()).toEqual(
    [
      "",
      "Redriven: 1.",
      `Not changed: ${running}: the worker web-1 holds it.`,
      `Not changed: ${pending}: it is pending, and due already.`,
      `Not changed: ${completed}: it is completed.`,
      `Not changed: ${nobody}: there is no such job in inbox.`,
    ].sort(),
  );
});

test("a discard by ids does too, with --json by reasons", async () => {
  const { world, dead, running, pending, completed } = await staged();
  const ran = await runner(world)(
    ...["discard", "inbox", dead, dead.toUpperCase(), running, pending, completed, nobody],
    ...["--status", "dead_letter", "--yes", "--json"],
  );
  expect(ran.exitCode, ran.stderr).toBe(0);
  const { unchanged, ...rest } = JSON.parse(ran.stdout) as { unchanged: { id: string; reason: string }[] };
  expect(rest).toEqual({ queue: "inbox", discarded: 1 });
  expect(Object.fromEntries(unchanged.map(({ id, reason }) => [id, reason]))).toEqual({
    [running]: "processing",
    [pending]: "pending",
    [completed]: "completed",
    [nobody]: "not_found",
  });
});

test("nothing is asked when none is found (3) or none can be changed (4)", async () => {
  const { world, running, completed } = await staged();
  const run = runner(world);
  for (const verb of ["redrive", "discard"]) {
    const missing = await run(verb, "inbox", nobody);
    expect(missing).toMatchObject({ exitCode: 3, stdout: "" });
    expect(missing.stderr).toContain(`error CLI_NOT_FOUND: There is no job ${nobody} in inbox.`);
    const fixed = await run(verb, "inbox", running, completed, nobody);
    expect(fixed).toMatchObject({ exitCode: 4, stdout: "" });
    expect(fixed.stderr).toContain(`error CLI_NOTHING_CHANGED: No job was changed. ${running}: the worker`);
    expect(fixed.stderr).toContain(`${nobody}: there is no such job in inbox.`);
  }
});

test("a dead letter of the archive can be redriven and not discarded, and that is said", async () => {
  const { world, dead } = await staged();
  await world.sql("update leasehold.queues set dead_letter_retention = interval '1 ms'");
  await expect
    .poll(async () => {
      await world.lh.housekeep();
      return await world.sql("select id from leasehold.inbox where status = 'dead_letter'");
    })
    .toEqual([]);
  const run = runner(world);
  const discarded = await run("discard", "inbox", dead, "--yes");
  expect(discarded).toMatchObject({ exitCode: 4 });
  expect(discarded.stderr).toContain(`${dead}: it is a dead letter of the archive`);
  expect(await run("redrive", "inbox", dead, "--yes")).toMatchObject({ stdout: "Redriven: 1.\n" });
});
