import { expect, test } from "vitest";
import { retryAfter } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

const payloads = (jobs: readonly { readonly payload: unknown }[]): unknown[] =>
  jobs.map((job) => job.payload);
const key = { partitionKey: "order:9182" };

test.each(["key", "none"] as const)(
  "a job for later is not handed out before it is due (order %s)",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order });
    const { id } = await inbox.enqueue("step", 1, { delayMs: 10_000 });
    expect(await inbox.get(id)).toMatchObject({
      status: "scheduled",
      availableAt: new Date(clock.databaseNow()!.getTime() + 10_000),
    });
    clock.advance(9_999);
    expect(await inbox.claim({ workerId: "w1" })).toEqual([]);
    clock.advance(1);
    expect(payloads(await inbox.claim({ workerId: "w1" }))).toEqual([1]);
  },
);

test("availableAt in the future schedules, in the past is due at once", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const at = (ms: number) => ({ availableAt: new Date(clock.databaseNow()!.getTime() + ms) });
  await inbox.enqueue("step", "future", at(1));
  await inbox.enqueue("step", "past", at(-60_000));
  await inbox.enqueue("step", "now", at(0));
  expect(payloads(await inbox.claim({ workerId: "w1" })).sort()).toEqual(["now", "past"]);
});

test("a job for later draws a new place when it falls due: what was enqueued meanwhile runs first", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const { id } = await inbox.enqueue("step", "reminder", { ...key, delayMs: 10_000 });
  const before = BigInt((await inbox.get(id))!.seq);
  for (const payload of ["second", "third"]) await inbox.enqueue("step", payload, key);
  clock.advance(10_000);
  const jobs = await inbox.claim({ workerId: "w1" });
  expect(payloads(jobs)).toEqual(["second", "third", "reminder"]);
  expect(jobs[2]!.seq).toBeGreaterThan(jobs[1]!.seq);
  expect(jobs[2]!.seq).toBeGreaterThan(before);
});

test("a job for later does not hold its key while it waits", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  await inbox.enqueue("step", "reminder", { ...key, delayMs: 10_000 });
  await inbox.enqueue("step", "now", key);
  const [job] = await inbox.claim({ workerId: "w1" });
  expect(job?.payload).toBe("now");
  clock.advance(10_000);
  expect(await inbox.claim({ workerId: "w2" })).toEqual([]);
  await inbox.complete(job!);
  expect(payloads(await inbox.claim({ workerId: "w2" }))).toEqual(["reminder"]);
});

test("several that are promoted at once keep the order of their due times, then of their enqueue", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const jobs = [
    ["due 3, first in", 3_000],
    ["due 1, second in", 1_000],
    ["due 1, third in", 1_000],
    ["due 2, fourth in", 2_000],
    ["due 1, fifth in", 1_000],
  ] as const;
  await inbox.enqueueMany(jobs.map(([payload, delayMs]) => ({ kind: "step", payload, delayMs, ...key })));
  clock.advance(60_000);
  expect(payloads(await inbox.claim({ workerId: "w1" }))).toEqual([
    "due 1, second in",
    "due 1, third in",
    "due 1, fifth in",
    "due 2, fourth in",
    "due 3, first in",
  ]);
});

test("five hundred that fall due together run in the order of their due times", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue();
  const delays = Array.from({ length: 500 }, (_, i) => 1 + ((i * 7_919) % 500));
  await inbox.enqueueMany(delays.map((delayMs) => ({ kind: "step", payload: delayMs, delayMs, ...key })));
  clock.advance(60_000);
  const seen: unknown[] = [];
  for (let run = await inbox.claim({ workerId: "w1", run: 200, limit: 200 }); run.length > 0; ) {
    seen.push(...payloads(run));
    for (const job of run) await inbox.complete(job);
    run = await inbox.claim({ workerId: "w1", run: 200, limit: 200 });
  }
  expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
});

test("with order none a retry in backoff becomes scheduled and comes back when it is due", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const mail = await world.queue("mail", { order: "none" });
  const { id } = await mail.enqueue("send", 1, { priority: 4 });
  const [job] = await mail.claim({ workerId: "w1" });
  expect(await mail.fail(job!, retryAfter(5_000))).toBe(true);
  expect(await mail.get(id)).toMatchObject({ status: "scheduled", attempts: 1, priority: 4 });
  expect(await mail.stats()).toMatchObject({ scheduled: 1, retrying: 1, pending: 0 });
  clock.advance(4_999);
  expect(await mail.claim({ workerId: "w1" })).toEqual([]);
  clock.advance(1);
  const [again] = await mail.claim({ workerId: "w1" });
  expect(again).toMatchObject({
    id,
    attempt: 2,
    priority: 4,
    lastError: "RetryAfter: asked to be tried again later",
  });
});

test("with order none a retry without a wait is due at once", async () => {
  const world = await setup({ clock: settableClock() });
  const mail = await world.queue("mail", { order: "none" });
  const { id } = await mail.enqueue("send", 1);
  const [job] = await mail.claim({ workerId: "w1" });
  await mail.fail(job!, retryAfter(0));
  expect(await mail.get(id)).toMatchObject({ status: "pending" });
  expect(await mail.claim({ workerId: "w1" })).toMatchObject([{ id, attempt: 2 }]);
});

test("with order none and nobody settling, the expired attempt waits for its backoff as scheduled", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const mail = await world.queue("mail", { order: "none" });
  const { id } = await mail.enqueue("send", 1);
  await mail.claim({ workerId: "w1", leaseMs: 1_000 });
  clock.advance(1_000);
  expect(await mail.claim({ workerId: "w2" })).toEqual([]);
  expect(await mail.get(id)).toMatchObject({ status: "scheduled", attempts: 1, crashes: 1 });
  clock.advance(2_500);
  expect(await mail.claim({ workerId: "w2" })).toMatchObject([{ id, attempt: 2 }]);
});
