import { expect, test } from "vitest";
import { type Handlers, InvalidOptionError, type WorkerOptions, WorkerStateError } from "../../src/index.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

type AnyHandlers = Handlers<Record<string, unknown>>;

const nothing = (): void => {};
const handlers = { k: nothing };
const mine: WorkerOptions = { handlesSignals: false };

const badHandlers: readonly [name: string, value: unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a function", nothing],
  ["an array", [nothing]],
  ["an empty object", {}],
  ["a map", new Map([["k", nothing]])],
  ["a kind with a number", { k: 1 }],
  ["a kind with null", { k: null }],
  ["a kind without handle", { k: { timeoutMs: 5 } }],
  ["a timeout of 0", { k: { handle: nothing, timeoutMs: 0 } }],
  ["a timeout of NaN", { k: { handle: nothing, timeoutMs: Number.NaN } }],
  ["attemptsMax 0", { k: { handle: nothing, attemptsMax: 0 } }],
  ["attemptsMax 1.5", { k: { handle: nothing, attemptsMax: 1.5 } }],
  ["retryDelayMs as a number", { k: { handle: nothing, retryDelayMs: 5 } }],
];

const badOptions: readonly unknown[] = [
  null,
  [],
  { concurrency: 0 },
  { concurrency: 1.5 },
  { concurrency: "8" },
  { concurrency: 10_001 },
  { leaseMs: 99 },
  { leaseMs: Number.POSITIVE_INFINITY },
  { handlerTimeoutMs: 0 },
  { abortGraceMs: -1 },
  { drainLimitMs: -1 },
  { housekeepingMs: 1 },
  { middleware: nothing },
  { middleware: [1] },
  { handlesSignals: "no" },
];

test("handlers and options that can't be used are refused before anything is written", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  for (const [name, value] of badHandlers) {
    expect(() => world.lh.worker("inbox", value as AnyHandlers, mine), name).toThrow(InvalidOptionError);
  }
  for (const options of badOptions) {
    const make = () => world.lh.worker("inbox", handlers, options as WorkerOptions);
    expect(make, JSON.stringify(options)).toThrow(InvalidOptionError);
  }
  expect(() => world.lh.worker("in box", handlers, mine)).toThrow(/can't be used/);
  expect(await world.sql("select id from leasehold.workers")).toEqual([]);
  // None of them counts as the worker of this queue.
  await startWorker(world.lh, handlers);
});

test("a second worker on the same queue and connection is refused until the first has stopped", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const first = world.lh.worker("inbox", handlers, mine);
  expect(() => world.lh.worker("inbox", handlers, mine)).toThrow(WorkerStateError);
  await first.start();
  expect(() => world.lh.worker("inbox", handlers, mine)).toThrow(WorkerStateError);
  await first.stop();
  const second = await startWorker(world.lh, handlers);
  expect(second.state).toBe("working");
});

test("a worker starts once and stops as often as one likes", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const worker = world.lh.worker("inbox", handlers, mine);
  expect(worker.state).toBe("new");
  const starting = worker.start();
  await expect(worker.start()).rejects.toThrow(WorkerStateError);
  await starting;
  expect(worker.state).toBe("working");
  await expect(worker.start()).rejects.toThrow(WorkerStateError);
  await Promise.all([worker.stop(), worker.stop()]);
  await worker.stop();
  expect(worker.state).toBe("stopped");
  await expect(worker.start()).rejects.toThrow(WorkerStateError);
});

test("a worker that was stopped before it started never starts", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const worker = world.lh.worker("inbox", handlers, mine);
  await worker.stop();
  expect(worker.state).toBe("stopped");
  await expect(worker.start()).rejects.toThrow(WorkerStateError);
  expect(await world.sql("select id from leasehold.workers")).toEqual([]);
});

test("a stop that comes during the start waits for it and drains", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const worker = world.lh.worker("inbox", handlers, mine);
  const starting = worker.start();
  await worker.stop();
  await starting;
  expect(worker.state).toBe("stopped");
  expect(await world.lh.workers()).toMatchObject([{ id: "a", state: "left" }]);
});

test("a queue that does not exist refuses the start, and another start may follow", async () => {
  const world = await setup({ workerId: "a" });
  const worker = world.lh.worker("inbox", handlers, mine);
  await expect(worker.start()).rejects.toMatchObject({ code: "LH_UNKNOWN_QUEUE" });
  expect(worker.state).toBe("stopped");
  await worker.stop();
  expect(await world.sql("select id from leasehold.workers")).toEqual([]);
  await world.queue();
  const again = await startWorker(world.lh, handlers);
  expect(again.state).toBe("working");
});

test("workers on two queues of one connection that start at once are both in their rings when they have started", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue("inbox");
  await world.queue("outbox");
  const workers = ["inbox", "outbox"].map((queue) => world.lh.worker(queue, handlers, mine));
  await Promise.all(
    workers.map(async (worker) => {
      await worker.start();
      expect((await world.lh.ring(worker.queueName)).members, worker.queueName).toEqual(["a"]);
    }),
  );
  expect(workers.map((worker) => worker.load.owned)).toEqual([360, 360]);
});

test("a worker that starts while another of its connection ends goes on", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue("inbox");
  const outbox = await world.queue("outbox");
  for (let round = 0; round < 5; round++) {
    const ran: string[] = [];
    const ending = await startWorker(world.lh, handlers, { queue: "inbox" });
    const finished = ending.stop();
    // The later the rounds, the later in the other's drain it starts.
    for (let turns = 0; turns < round * 2; turns++) await world.sql("select 1");
    const starting = await startWorker(world.lh, { k: (job) => ran.push(job.id) }, { queue: "outbox" });
    await finished;
    const { id } = await outbox.enqueue("k", 1);
    await until(`the job of round ${round} has run`, () => ran.includes(id));
    expect(await world.lh.workers(), `round ${round}`).toMatchObject([
      { state: "alive", queues: ["outbox"] },
    ]);
    await starting.stop();
  }
});
