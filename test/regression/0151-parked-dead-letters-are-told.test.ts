import { expect, test } from "vitest";
import { deadLetter, diagnose, type FindingCode } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

/** Parked dead letters have no time at which they finished, so none were counted, and a poison job among them stayed critical for ever. */
async function parked() {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", onDeadLetter: "park" });
  await inbox.enqueueMany([1, 2, 3].map((n) => ({ kind: "k", payload: n, partitionKey: `key ${n}` })));
  for (const job of await inbox.claim({ workerId: "w" }))
    await inbox.fail(job, deadLetter("no such customer"));
  const find = async (code: FindingCode) =>
    (await diagnose(world.lh)).findings.find((finding) => finding.code === code);
  return { world, clock, find };
}

test("dead letters that hold their keys are counted for an hour", async () => {
  const { clock, find } = await parked();
  expect(await find("dead_letters")).toMatchObject({
    severity: "warning",
    evidence: { count: 3, kind: "k", lastError: "DeadLetter: no such customer", sampledShare: 1 },
  });
  clock.advance(3_660_000);
  expect(await find("dead_letters")).toBeUndefined();
});

test("a poison job that is parked is critical for five minutes, and named for an hour", async () => {
  const { world, clock, find } = await parked();
  await world.sql("update leasehold.inbox set crashes = 5 where payload = '1'");
  expect(await find("poison_job")).toMatchObject({ severity: "critical", evidence: { jobs: 1 } });
  clock.advance(360_000);
  expect(await find("poison_job")).toMatchObject({ severity: "warning" });
  clock.advance(3_300_000);
  expect(await find("poison_job")).toBeUndefined();
});

test("where dead letters let their keys go on, they are counted by their index", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await inbox.enqueue("k", 1);
  const [job] = await inbox.claim({ workerId: "w" });
  await inbox.fail(job!, deadLetter("no"));
  const { findings } = await diagnose(world.lh);
  expect(findings.find(({ code }) => code === "dead_letters")?.evidence).toMatchObject({
    count: 1,
    sampledShare: 1,
  });
});
