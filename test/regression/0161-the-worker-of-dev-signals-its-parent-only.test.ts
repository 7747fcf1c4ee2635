import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { DevWorker, endWithDev } from "../../cli/dev-worker.js";
import { defaults } from "../../src/index.js";

/** Whom the worker of `leasehold dev` tells to stop when the pipe of its parent closes. */
async function told(parentAtStart: number, parentAtEnd: number): Promise<unknown[]> {
  const pipe = new PassThrough();
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const parent = vi.spyOn(process, "ppid", "get").mockReturnValue(parentAtStart);
  const stdin = vi.spyOn(process, "stdin", "get").mockReturnValue(pipe as never);
  onTestFinished(() => {
    for (const spy of [kill, parent, stdin]) spy.mockRestore();
  });
  endWithDev({ LEASEHOLD_DEV_PIPE: "1" });
  parent.mockReturnValue(parentAtEnd);
  pipe.end();
  await vi.waitFor(() => expect(kill).toHaveBeenCalled());
  return kill.mock.calls.flat();
}

test("a worker of dev whose parent lives tells it to stop", async () => {
  expect(await told(4_711, 4_711)).toEqual([4_711, "SIGTERM"]);
});

test("a worker of dev whose parent has died stops itself, and signals no stranger", async () => {
  expect(await told(4_711, 1)).toEqual([process.pid, "SIGTERM"]);
});

test("dev waits longer for its worker than a drain may take", async () => {
  const worker = new DevWorker("/nowhere.mjs", process.env);
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  await worker.drain();
  const { drainLimitMs, abortGraceMs, drainRestMs } = defaults;
  const waits = timers.mock.calls.map(([, ms]) => ms ?? 0);
  expect(Math.max(...waits)).toBeGreaterThan(drainLimitMs + abortGraceMs + drainRestMs);
});
