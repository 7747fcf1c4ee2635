import { expect, onTestFinished, test } from "vitest";
import type { AttemptError, JobRecord } from "../../src/index.js";
import { type Fleet, now, openFleet } from "../support/fleet.js";
import { findingsOf } from "../support/history.js";
import { Load, untilDrained } from "../support/load.js";
import { setup, type World } from "../support/world.js";

/**
 * A job that ends its worker's process on every attempt, in a fleet whose processes are started again as a supervisor would do. It is dead-lettered
 * when its crashes are used up, with their history, and takes none of the others with it.
 */

const others = 300;
const keys = 60;
/** Long enough that several of them are caught in each crash. */
const workMs = 150;
/** The default of a queue. */
const maxCrashes = 5;
const poisonKey = "poison:0";
/** What fleet-worker ends with when a payload says so. */
const poisonCode = 7;

interface Supervised {
  readonly codes: number[];
  stop(): void;
}

/** Starts a process under a new id for each that ends by itself. */
function supervise(fleet: Fleet, limit: number): Supervised {
  let isOn = true;
  let started = 0;
  const codes: number[] = [];
  const add = async (): Promise<void> => {
    if (!isOn || started >= limit) return;
    const id = `w${started++}`;
    await fleet.add(id).catch(() => {});
    const one = fleet.processes.find((process) => process.id === id);
    const code = await one?.exited;
    if (one === undefined || !isOn) return;
    // It ended with rows in hand, like one that was killed.
    one.wasKilled = true;
    codes.push(code ?? -1);
    await add();
  };
  for (let i = 0; i < 3; i++) void add();
  const stop = (): void => {
    isOn = false;
  };
  onTestFinished(stop);
  return { codes, stop };
}

/** Enqueues the others a few at a time, so that there is work all the while the poison goes round. */
async function enqueueOthers(load: Load): Promise<void> {
  while (load.enqueued < others) {
    await load.enqueue(10, { workMs });
    await new Promise((resolve) => setTimeout(resolve, 350));
  }
}

async function untilDeadLetter(world: World, limitMs: number): Promise<JobRecord> {
  const inbox = await world.lh.queue("inbox");
  for (const lateAt = now() + limitMs; now() < lateAt; ) {
    const [dead] = await inbox.list({ status: "dead_letter", partitionKey: poisonKey });
    if (dead !== undefined) return dead;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The poison was not dead-lettered within ${limitMs} ms.`);
}

/** Each attempt left an entry: of another worker, under a higher token, lost and not failed. */
function expectHistory(dead: JobRecord): void {
  expect(dead).toMatchObject({ attempts: maxCrashes, crashes: maxCrashes, claimedBy: null });
  const { errors }: { readonly errors: readonly AttemptError[] } = dead;
  expect(errors.map((error) => error.attempt)).toEqual([1, 2, 3, 4, 5]);
  expect(new Set(errors.map((error) => error.worker)).size).toBe(maxCrashes);
  const tokens = errors.map((error) => BigInt(error.token));
  expect(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] ?? 0n))).toBe(true);
  expect(new Set(errors.map((error) => error.message))).toEqual(
    new Set(["the worker was lost before the attempt was settled"]),
  );
}

interface Archived {
  readonly key: string;
  readonly n: number;
  readonly attempts: number;
}

async function archivedOthers(world: World): Promise<readonly Archived[]> {
  return await world.sql<Archived>(
    `select partition_key as key, (payload ->> 'n')::int as n, attempts from leasehold.inbox_archive where status = 'completed'`,
  );
}

test.each(["key", "none"] as const)(
  "with order %s a job that ends its process is dead-lettered, and 300 others complete",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order });
    const fleet = openFleet(world);
    const load = new Load(world, keys);
    const supervised = supervise(fleet, 40);
    await load.enqueue(keys, { workMs });
    const startedAt = now();
    await inbox.enqueue("work", { n: 0, exit: true }, { partitionKey: poisonKey, maxAttempts: 1 });
    const enqueued = enqueueOthers(load);
    const dead = await untilDeadLetter(world, 120_000);
    const deadAfterMs = Math.round(now() - startedAt);
    await enqueued;
    await untilDrained(world);
    supervised.stop();

    expectHistory(dead);
    expect(supervised.codes).toEqual(Array.from({ length: maxCrashes }, () => poisonCode));
    expect(await inbox.list({ status: "dead_letter" })).toHaveLength(1);
    const done = await archivedOthers(world);
    expect(new Set(done.map((one) => `${one.key} ${one.n}`)).size).toBe(load.enqueued);
    const attempts = Math.max(...done.map((one) => one.attempts));
    // Who was caught twice is a suspect and runs beside no other suspect, so one poison costs an innocent at most two attempts.
    expect(attempts).toBeLessThanOrEqual(3);
    if (order === "key") {
      const ended = new Set(done.map((one) => `${one.key} ${one.n}`));
      const innocent = { ...fleet, told: fleet.told.filter((one) => one.key !== poisonKey) };
      expect(findingsOf(innocent, ended)).toEqual({
        orderBreaks: [],
        overlaps: [],
        fallingTokens: [],
        repeated: [],
      });
    }
    const figures = {
      order,
      deaths: supervised.codes.length,
      deadAfterMs,
      others: done.length,
      othersWithLostAttempts: done.filter((one) => one.attempts > 1).length,
      othersAttemptsMax: attempts,
    };
    process.stdout.write(`poison process: ${JSON.stringify(figures)}\n`);
  },
  180_000,
);
