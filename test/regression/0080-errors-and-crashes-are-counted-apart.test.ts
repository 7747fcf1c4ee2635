import { expect, test } from "vitest";
import { type ClaimedJob, type Queue, retryAfter } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

/**
 * Five attempts, for errors and crashes together, were used up in 30 s: an outage of a minute dead-lettered every job that met it. Errors and crashes have budgets of their own, and waits of errors
 * add up to more than an hour.
 */

const hourMs = 3_600_000;
const orders = ["key", "none"] as const;

function world() {
  const clock = settableClock();
  return setup({ clock }).then((made) => ({ made, clock, start: clock.databaseNow()?.getTime() ?? 0 }));
}

async function claimOne(queue: Queue): Promise<ClaimedJob | undefined> {
  const [job] = await queue.claim({ workerId: "w", leaseMs: 1_000 });
  return job;
}

test.each(orders)("a job that always fails has 12 attempts, over an hour (order %s)", async (order) => {
  const { made, clock, start } = await world();
  const inbox = await made.queue("inbox", { order });
  const { id } = await inbox.enqueue("k", 1);
  let failures = 0;
  let lastMs = start;
  for (; (await inbox.get(id))?.status !== "dead_letter"; failures++) {
    const due = (await inbox.get(id))!.availableAt.getTime();
    clock.advance(Math.max(0, due + 1 - clock.databaseNow()!.getTime()));
    lastMs = clock.databaseNow()!.getTime();
    await inbox.fail((await claimOne(inbox))!, new Error("downstream is down"));
    expect(failures).toBeLessThan(100);
  }
  expect(failures).toBe(12);
  expect(lastMs - start).toBeGreaterThan(hourMs);
  expect(await inbox.get(id)).toMatchObject({ attempts: 12, crashes: 0, maxAttempts: 12 });
});

test.each(orders)(
  "a job that loses every lease has 5 crashes, whatever its attempts (order %s)",
  async (order) => {
    const { made, clock } = await world();
    const inbox = await made.queue("inbox", { order });
    const { id } = await inbox.enqueue("k", 1, { maxAttempts: 1 });
    let claims = 0;
    for (let i = 0; i < 40 && (await inbox.get(id))?.status !== "dead_letter"; i++) {
      if ((await claimOne(inbox)) !== undefined) claims += 1;
      clock.advance(hourMs);
    }
    expect(claims).toBe(5);
    expect(await inbox.get(id)).toMatchObject({
      status: "dead_letter",
      attempts: 5,
      crashes: 5,
      maxAttempts: 1,
    });
  },
);

test.each(orders)("crashes use up no attempt, and errors no crash (order %s)", async (order) => {
  const { made, clock } = await world();
  const inbox = await made.queue("inbox", { order });
  const { id } = await inbox.enqueue("k", 1, { maxAttempts: 3 });
  const crash = async (): Promise<void> => {
    expect(await claimOne(inbox)).toBeDefined();
    clock.advance(1_000);
    expect(await claimOne(inbox)).toBeUndefined();
    clock.advance(hourMs);
  };
  for (let i = 0; i < 4; i++) await crash();
  for (let i = 0; i < 2; i++) await inbox.fail((await claimOne(inbox))!, retryAfter(0));
  expect(await inbox.get(id)).toMatchObject({ status: "pending", attempts: 6, crashes: 4 });
  expect((await made.lh.audit()).breaches).toEqual([]);
  await inbox.fail((await claimOne(inbox))!, retryAfter(0));
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter", attempts: 7, crashes: 4 });
  expect((await inbox.why(id)).words).toContain("after 3 of 3 attempts and 4 crashes");
  await inbox.retry({ ids: [id] });
  expect(await inbox.get(id)).toMatchObject({ status: "pending", attempts: 0, crashes: 0 });
});

test("a worker's rules and events count errors only", async () => {
  const made = await setup();
  const inbox = await made.queue();
  const failed = heard(made.lh, "job:failed");
  const settled = heard(made.lh, "job:settled");
  const own = await inbox.enqueue("own", 1, { maxAttempts: 2 });
  const ruled = await inbox.enqueue("ruled", 1);
  await made.sql("update leasehold.inbox set attempts = 1, crashes = 1");
  const handle = (): never => {
    throw new Error("no");
  };
  const retryDelayMs = (): number => 0;
  await startWorker(made.lh, {
    own: { handle, retryDelayMs },
    ruled: { handle, retryDelayMs, attemptsMax: 2 },
  });
  await until(
    "both are dead letters",
    () => settled.filter(({ status }) => status === "dead_letter").length === 2,
  );
  expect(failed.map(({ kind, outcome }) => `${kind} ${outcome}`).sort()).toEqual([
    "own dead_letter",
    "own retry",
    "ruled dead_letter",
    "ruled retry",
  ]);
  for (const { id } of [own, ruled]) expect(await inbox.get(id)).toMatchObject({ attempts: 3, crashes: 1 });
});
