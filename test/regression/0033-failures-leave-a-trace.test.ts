import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { connect, type Logger } from "../../src/index.js";
import { defaults } from "../../src/settings.js";
import { setup, type World } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

const program = join(process.cwd(), "build/test/support/failing-worker.js");

async function stderrOf(world: World, task: object): Promise<readonly string[]> {
  const argument = JSON.stringify({ url: world.url, schema: world.schema, ...task });
  const { stderr } = await promisify(execFile)(process.execPath, [program, argument]);
  return stderr.split("\n").filter((line) => line !== "");
}

test("without a logger a failed attempt and a dead letter are a line each on stderr", async () => {
  const world = await setup();
  const lines = await stderrOf(world, { jobs: 1, isSilent: false });
  const [job] = await (await world.lh.queue("inbox")).list();
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain(`bad ${job!.id} failed in attempt 1`);
  expect(lines[0]).toContain("Error: no mailbox 0");
  expect(lines[1]).toContain(`${job!.id} is a dead letter`);
  expect(lines[1]).toContain("Error: no mailbox 0");
});

test("many failures print a bounded number of lines, and how many were left out", async () => {
  const world = await setup();
  const jobs = 5 * defaults.logLinesMax;
  const lines = await stderrOf(world, { jobs, isSilent: false });
  const printed = lines.filter((line) => line.includes("failed in attempt 1"));
  expect(printed.length).toBeGreaterThan(0);
  // A window that ends while it runs begins another.
  expect(printed.length).toBeLessThan(jobs);
  const leftOut = lines.flatMap((line) => line.match(/(\d+) more job:failed/)?.[1] ?? []).map(Number);
  expect(printed.length + leftOut.reduce((sum, count) => sum + count, 0)).toBe(jobs);
});

test("logger: false prints nothing", async () => {
  const world = await setup();
  expect(await stderrOf(world, { jobs: 3, isSilent: true })).toEqual([]);
});

test("a logger that is none is refused", async () => {
  const world = await setup();
  for (const logger of [true, {}, null, "console", { error: () => {} }])
    await expect(connect({ url: world.url, logger: logger as unknown as Logger })).rejects.toMatchObject({
      code: "LH_INVALID_OPTION",
      option: "logger",
    });
});

test("job:failed says dead_letter on the last attempt, and retry before", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const failed = heard(world.lh, "job:failed");
  const dead = heard(world.lh, "job:dead_lettered");
  await startWorker(world.lh, {
    bad: {
      handle: () => {
        throw new Error("no");
      },
      retryDelayMs: () => 0,
    },
  });
  const { id } = await inbox.enqueue("bad", 1, { maxAttempts: 2 });
  await until("it is a dead letter", () => dead.length > 0);
  expect(failed.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, "retry"],
    [2, "dead_letter"],
  ]);
  expect(dead).toMatchObject([{ queue: "inbox", id, kind: "bad", error: "Error: no" }]);
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter" });
});

test("a dead letter by hand is told too", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const dead = heard(world.lh, "job:dead_lettered");
  const { id } = await inbox.enqueue("k", 1, { maxAttempts: 1 });
  const [job] = await inbox.claim({ workerId: "w" });
  await inbox.fail(job!, new Error("no"));
  expect(dead).toMatchObject([{ queue: "inbox", id, error: "Error: no" }]);
});
