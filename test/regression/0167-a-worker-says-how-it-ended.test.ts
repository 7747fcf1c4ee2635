import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { watchEnds } from "../../cli/worker-end.js";
import { createEvents } from "../../src/events.js";
import { leasehold, type Ran } from "../cli/in-process.js";
import { setup, type World } from "../support/world.js";

/** `leasehold worker` printed "Drained. Every job is settled or handed back." with exit code 0, whatever had ended it. */

/** Runs `leasehold worker` as web-1, does something to it when it works, and gives what it said at its end. */
async function ended(act: (world: World) => Promise<unknown>, more: readonly string[] = []): Promise<Ran> {
  const world = await setup();
  await world.queue();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "worker.mjs");
  const options = "{ handlesSignals: false, pollIdleMs: 100, pollActiveMs: 50 }";
  await writeFile(file, `export default (lh) => lh.worker("inbox", { hello() {} }, ${options});`);
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const ran = leasehold(["worker", file, "--id", "web-1", ...more], {
    environment,
    connectOptions: { heartbeatMs: 200 },
  });
  await expect.poll(() => world.lh.workers(), { timeout: 60_000 }).toMatchObject([{ id: "web-1" }]);
  await act(world);
  return await ran;
}

test("a worker that was drained by an operator ends with 0", async () => {
  const ran = await ended((world) => world.lh.drain("web-1"));
  expect(ran).toMatchObject({ exitCode: 0, stdout: "Drained. Every job is settled or handed back.\n" });
});

test("a worker whose queue was dropped ends with 1 and says so", async () => {
  const ran = await ended((world) => world.lh.dropQueue("inbox", { force: true }));
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ran.stderr).toContain(
    "error CLI_WORKER_STOPPED: The worker has stopped. The queue inbox was dropped.",
  );
});

test("a worker whose id another process took ends with 1 and says so", async () => {
  const ran = await ended(async (world) => {
    const other = await world.connect({ workerId: "web-1" });
    await other.worker("inbox", { hello: () => {} }, { handlesSignals: false }).start();
  });
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ran.stderr).toContain("Another process runs as web-1 and has taken its place.");
  expect(ran.stderr).toContain("advice: Give each process an id of its own");
});

test("a worker that could not tell what became of its jobs has not drained", () => {
  const events = createEvents();
  const check = watchEnds(events);
  events.emit("worker:stopped", { workerId: "web-1", queue: "inbox", isClean: true });
  check();
  events.emit("worker:stopped", { workerId: "web-1", queue: "mail", isClean: false });
  events.emit("library:outdated", { workerId: "web-1", queue: "inbox", error: "Too old." });
  expect(check).toThrow(
    "The worker has stopped. web-1 has left mail before every job was settled or handed back. Too old.",
  );
});

test("worker --json ends with one line, as it began", async () => {
  const ran = await ended((world) => world.lh.drain("web-1"), ["--json"]);
  const lines = ran.stdout.trim().split("\n");
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(JSON.parse(line)).toBeTypeOf("object");
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ workerId: "web-1", stopped: true });
});
