import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/** `leasehold worker` printed "Drained." and stayed for as long as the user's file kept a timer or a socket open. */

interface Ended {
  readonly status: unknown;
  readonly output: string;
}

async function worked(act: (world: World, pid: number) => unknown): Promise<Ended> {
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
    export default async (lh) => {
      const worker = lh.worker("inbox", { hello() {} }, { handlesSignals: false });
      process.once("SIGTERM", () => worker.stop());
      return worker;
    };`,
  );
  const env = { ...process.env, DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const child = spawn(process.execPath, ["build/cli/main.js", "worker", file, "--id", "web-1"], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
  const ended = once(child, "close");
  await expect.poll(() => world.lh.workers(), { timeout: 60_000 }).toMatchObject([{ state: "alive" }]);
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
