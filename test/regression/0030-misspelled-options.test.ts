import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  connect,
  InvalidOptionError,
  type JobFilter,
  type KindRules,
  type Queue,
  type QueueOptions,
} from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { setup } from "../support/world.js";

async function refusal(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return null;
  } catch (error) {
    return error;
  }
}

test("an option of an unknown name is refused before any SQL, and the nearest name is told", async () => {
  const world = await setup();
  const pool = new pg.Pool({ connectionString: world.url, max: 4 });
  onTestFinished(() => pool.end());
  const lh = await world.connect({ pool });
  const inbox = await lh.queue("inbox", { order: "key" });
  let taken = 0;
  pool.on("acquire", () => {
    taken += 1;
  });
  const handlers = { x: () => {} };
  const cases: readonly (readonly [given: string, nearest: string, act: () => unknown])[] = [
    ["shema", "schema", () => connect({ pool, shema: "other" } as object)],
    ["conectionsMax", "connectionsMax", () => connect({ pool, conectionsMax: 2 } as object)],
    ["heartBeatMs", "heartbeatMs", () => connect({ pool, heartBeatMs: 1_000 } as object)],
    ["retention", "retentionMs", () => lh.queue("inbox", { retention: 5 } as QueueOptions)],
    ["onDeadLeter", "onDeadLetter", () => lh.queue("inbox", { onDeadLeter: "park" } as QueueOptions)],
    ["partitonKey", "partitionKey", () => inbox.enqueue("k", 1, { partitonKey: "a" } as object)],
    ["maxAttemps", "maxAttempts", () => inbox.enqueue("k", 1, { maxAttemps: 1 } as object)],
    ["partition_key", "partitionKey", () => inbox.enqueue("k", 1, { partition_key: "a" } as object)],
    ["idempotencykey", "idempotencyKey", () => inbox.enqueueMany([job({ idempotencykey: "a" })])],
    ["transaction", "tx", () => inbox.enqueueMany([job({})], { transaction: {} } as object)],
    ["tx", "idempotencyKey", () => inbox.enqueueMany([job({ tx: {} })])],
    ["concurency", "concurrency", () => lh.worker(inbox, handlers, { concurency: 2 } as object)],
    [
      "timeoutMS",
      "timeoutMs",
      () => lh.worker(inbox, { x: { handle: () => {}, timeoutMS: 5 } as KindRules }),
    ],
    ["bucket", "buckets", () => inbox.claim({ workerId: "w", bucket: [1] } as { workerId: string })],
    ["partitionkey", "partitionKey", () => inbox.list({ partitionkey: "a" } as JobFilter)],
    ["kinds", "kind", () => inbox.retry({ kinds: "a" } as JobFilter)],
    ["statuses", "status", () => inbox.discard({ kind: "a", statuses: "pending" } as JobFilter)],
    ["tickMS", "tickMs", () => createTenantSupervisor(lh, { start: () => {}, tickMS: 50 } as never)],
    [
      "depthmin",
      "depthMin",
      () =>
        createTenantSupervisor(lh, {
          start: () => {},
          policy: { measure: () => [], depthMin: 1, depthmin: 1 } as never,
        }),
    ],
  ];
  for (const [given, nearest, act] of cases) {
    const error = await refusal(act);
    expect(error, given).toBeInstanceOf(InvalidOptionError);
    expect(error, given).toMatchObject({ code: "LH_INVALID_OPTION", option: given });
    expect((error as Error).message, given).toContain(nearest);
  }
  expect(taken, "connections taken").toBe(0);
  expect(await world.sql("select id from leasehold.inbox")).toEqual([]);
});

test("the dispatchers of tenants refuse unknown options too", async () => {
  const world = await setup();
  const supervisor = createTenantSupervisor(world.lh, { start: () => {}, handlesSignals: false });
  await supervisor.start();
  const task = (): void => {};
  const refused = { code: "LH_INVALID_OPTION", option: "concurency" };
  const options = { concurency: 2 } as object;
  await expect(supervisor.dispatchCold(["acme"], task, options)).rejects.toMatchObject(refused);
  await expect(supervisor.fanOut(["acme"], task, options)).rejects.toMatchObject(refused);
  await supervisor.stop();
});

test("a name like no other is refused with the names that there are", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const error = await refusal(() => inbox.enqueue("k", 1, { singletonSeconds: 5 } as object));
  expect((error as Error).message).toMatch(/partitionKey, idempotencyKey, .*headers/);
});

test("a priority is refused where rows run in the order of their keys", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const mail = await world.queue("mail", { order: "none" });
  const refused = { code: "LH_INVALID_OPTION", option: "priority" };
  await expect(inbox.enqueue("k", 1, { priority: 5 })).rejects.toMatchObject(refused);
  await expect(inbox.enqueue("k", 1, { priority: 5 })).rejects.toThrow(/inbox has order "key"/);
  await expect(inbox.enqueueMany([job({ priority: 5 })])).rejects.toMatchObject(refused);
  expect((await inbox.stats()).pending).toBe(0);
  await mail.enqueue("k", 1, { priority: 5 });
  expect(await mail.list()).toMatchObject([{ priority: 5 }]);
});

test("enqueueMany names the job that is at fault, in the message and as a field", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const faults: readonly (readonly [code: string, fault: object | null])[] = [
    ["LH_INVALID_KEY", { partitionKey: "" }],
    ["LH_INVALID_KEY", { kind: 7 }],
    ["LH_INVALID_PAYLOAD", { payload: { a: 1n } }],
    ["LH_PAYLOAD_TOO_LARGE", { payload: "x".repeat(70_000) }],
    ["LH_INVALID_OPTION", { maxAttempts: 0 }],
    ["LH_INVALID_OPTION", { maxAttemps: 1 }],
    ["LH_INVALID_OPTION", null],
  ];
  for (const [code, fault] of faults) {
    const jobs = [job({}), job({}), fault === null ? null : job(fault), job({})];
    const error = (await refusal(() => inbox.enqueueMany(jobs as Jobs))) as InvalidOptionError;
    expect(error).toMatchObject({ code, jobIndex: 2 });
    expect(error.message).toMatch(/^jobs\[2\]: /);
    expect(error.stack).toContain(error.message);
  }
  expect((await inbox.stats()).pending).toBe(0);
});

type Jobs = Parameters<Queue["enqueueMany"]>[0];

function job(more: object): Jobs[number] {
  return { kind: "k", payload: 1, ...more };
}
