import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** The process that the library ends after SIGTERM said nothing at its end, and ended with 0 although jobs were left. `leasehold worker` printed "Drained." and stayed for as long as the user's file kept a timer or a socket open. */

interface Ended {
  readonly status: unknown;
  readonly output: string;
}

const ownSignals = `async (lh) => {
  const worker = lh.worker("inbox", { hello() {} }, { handlesSignals: false });
  process.once("SIGTERM", () => worker.stop());
  return worker;
}`;

async function worked(
  act: (world: World, pid: number) => unknown,
  { made = ownSignals, more = [] }: { readonly made?: string; readonly more?: readonly string[] } = {},
): Promise<Ended> {
  const world = await setup();
  await world.queue();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "worker.mjs");
  await writeFile(
    file,
    `import { createServer } from "node:net";
    setInterval(() => {}, 1_000);
    createServer().listen(0);
    export default ${made};`,
  );
  const env = { ...process.env, DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const child = spawn(process.execPath, ["build/cli/main.js", "worker", file, "--id", "web-1", ...more], {
    env,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
  const ended = once(child, "close");
  await expect.poll(() => output, { timeout: 60_000 }).toContain("works on inbox");
  await act(world, child.pid ?? 0);
  const [status] = (await ended) as unknown[];
  return { status, output };
}

test("a worker that has drained ends, although its file keeps a timer and a socket open", async () => {
  const { status, output } = await worked((_, pid) => process.kill(pid, "SIGTERM"));
  expect(status, output).toBe(0);
  expect(output).toContain("Drained. Every job is settled or handed back.\n");
});

test("a worker that something else has stopped ends with 1 all the same", async () => {
  const { status, output } = await worked(({ lh }) => lh.dropQueue("inbox", { force: true }));
  expect(status, output).toBe(1);
  expect(output).toContain("error CLI_WORKER_STOPPED");
});

const plain = `(lh) => lh.worker("inbox", { hello() {} })`;
const terminate = (_: World, pid: number): boolean => process.kill(pid, "SIGTERM");

test("one that the library ends after a signal says that it has drained, in words and with --json", async () => {
  const words = await worked(terminate, { made: plain });
  expect(words.status, words.output).toBe(0);
  expect(words.output).toMatch(/Drained\. Every job is settled or handed back\.\n$/);
  const { status, output } = await worked(terminate, { made: plain, more: ["--json"] });
  expect(status, output).toBe(0);
  expect(JSON.parse(output.trim().split("\n").at(-1) ?? "")).toEqual({ workerId: "web-1", stopped: true });
  expect(output.match(/"stopped":true/g)).toHaveLength(1);
});

test("and ends with 1 when jobs are left to their leases", async () => {
  const made = `(lh) => {
    // As when a drain could not tell the database in time what became of its jobs.
    lh.on("worker:stopped", (event) => { event.isClean = false; });
    return lh.worker("inbox", { hello() {} });
  }`;
  const { status, output } = await worked(terminate, { made });
  expect(status, output).toBe(1);
  expect(
    output.match(/error CLI_WORKER_STOPPED: .* has left inbox before every job was settled/g),
  ).toHaveLength(1);
  expect(output).not.toContain("Drained.");
});
