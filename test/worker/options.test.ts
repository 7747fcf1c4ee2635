import { expect, test } from "vitest";
import { withoutPolls } from "../support/held-clock.js";
import { setup, type World } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

test("claimBatch is the most that a claim takes", async () => {
  const { lh, queue } = await setup({ workerId: "a" });
  const inbox = await queue();
  await inbox.enqueueMany(Array.from({ length: 30 }, (_, n) => ({ kind: "k", payload: n })));
  const counts: number[] = [];
  lh.on("jobs:claimed", ({ count }) => void counts.push(count));
  let done = 0;
  await startWorker(lh, { k: () => void done++ }, { claimBatch: 3, concurrency: 20 });
  await until("all are done", () => done === 30);
  expect(Math.max(...counts)).toBe(3);
});

test("pollIdleMs and ringCacheMs are the waits between looks", async () => {
  const held = withoutPolls();
  const { lh, queue } = await setup({ workerId: "a", ...held, ringCacheMs: 50_000 });
  await queue();
  await startWorker(lh, { k: () => {} }, { pollIdleMs: 5_000 });
  const waits = (from: number, to: number): boolean => held.clock.held().some((ms) => ms > from && ms <= to);
  await until("it waits for its idle poll", () => waits(4_000, 5_000));
  await until("it waits to read the list of workers again", () => waits(42_000, 50_000));
});

test("options of polls, claims and the ring are refused outside of their bounds", async () => {
  const { lh, connect } = await setup();
  const handlers = { k: () => {} };
  for (const options of [{ pollIdleMs: 99 }, { pollActiveMs: 9 }, { claimBatch: 0 }, { claimBatch: 5_001 }])
    expect(() => lh.worker("inbox", handlers, options)).toThrow(/whole number from/);
  await expect(connect({ ringCacheMs: 499 })).rejects.toThrow(/whole number from 500 to 60000/);
});

async function registered({ lh }: World): Promise<Awaited<ReturnType<typeof lh.workers>>[number]> {
  const [row] = await lh.workers();
  if (row === undefined) throw new Error("nobody is registered");
  return row;
}

test("metadata of a process is in the registry, beside what the library says of itself", async () => {
  const metadata = { version: "1.2.0", host: { rack: 7 } };
  const world = await setup({ workerId: "a", heartbeatMs: 50, metadata });
  await world.queue();
  await startWorker(world.lh, { k: () => {} });
  const first = await registered(world);
  expect(first.metadata).toEqual(metadata);
  expect(first.load).toMatchObject({ version: expect.any(String), running: 0, held: 0 });
  await until("it beats", async () => (await registered(world)).lastSeenAt > first.lastSeenAt);
  expect((await registered(world)).metadata).toEqual(metadata);
});

test("metadata is checked before anything is sent", async () => {
  const { connect } = await setup();
  const refused = (metadata: unknown): Promise<unknown> =>
    connect({ metadata: metadata as Record<string, unknown> }).then(
      () => "accepted",
      (error: { code?: string }) => error.code,
    );
  expect(await refused({ leasehold: 1 })).toBe("LH_INVALID_OPTION");
  expect(await refused("1.2.0")).toBe("LH_INVALID_OPTION");
  expect(await refused({ text: "\u0000" })).toBe("LH_INVALID_PAYLOAD");
  expect(await refused({ text: "x".repeat(5_000) })).toBe("LH_PAYLOAD_TOO_LARGE");
  expect(await refused({ version: undefined })).toBe("accepted");
});
