import { expect, test } from "vitest";
import { deadLetter, type Handlers, type Middleware, retryAfter, type WorkingJob } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { stored, untilStatus } from "./stored-jobs.js";
import { countOf, heard, startWorker, until } from "./worker-world.js";

type AnyHandlers = Handlers<Record<string, unknown>>;

/** Runs one job through a handler until its first attempt is settled. */
async function afterOne(world: World, handlers: AnyHandlers, kind = "k"): Promise<string> {
  const inbox = await world.queue();
  const settled = heard(world.lh, "job:settled");
  await startWorker(world.lh, handlers);
  const { id } = await inbox.enqueue(kind, 1);
  await until("the attempt is settled", () => settled.some((event) => event.id === id));
  return id;
}

const hostile = {
  get message(): string {
    throw new Error("no message for you");
  },
  toString(): string {
    throw new Error("no text for you");
  },
  toJSON(): string {
    throw new Error("no JSON for you");
  },
};
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const lying = new Error("x");
Object.defineProperty(lying, "message", {
  get() {
    throw new Error("no message for you");
  },
});

const thrown: readonly [name: string, value: unknown, text: RegExp][] = [
  ["a string", "smtp said no", /^smtp said no$/],
  ["undefined", undefined, /undefined/],
  ["null", null, /null/],
  ["a number", 42, /42/],
  ["a bigint", 42n, /42/],
  ["a symbol", Symbol("odd"), /odd/],
  ["an object", { code: 7 }, /"code":7/],
  ["an object with a hostile toString and getters", hostile, /described/],
  ["a revoked proxy", revoked, /described/],
  ["an error whose message throws", lying, /described/],
  ["an error with a NUL and a lone surrogate", new Error("a\u0000b\ud800c"), /^Error: a.*b.*c$/],
  ["an empty string", "", /without a message/],
];

for (const [name, value, text] of thrown) {
  test(`a handler that rejects with ${name} is retried, and the row says why`, async () => {
    const world = await setup({ workerId: "a" });
    const id = await afterOne(world, { k: () => Promise.reject(value) });
    const row = await stored(world, id);
    expect(row).toMatchObject({ status: "pending", attempts: 1, claimed_by: null });
    expect(row.last_error).toMatch(text);
    expect(row.due_in_ms).toBeGreaterThan(500);
  });
}

test("a handler that throws before it returns a promise fails its attempt and nothing else", async () => {
  const world = await setup({ workerId: "a" });
  const id = await afterOne(world, {
    k: () => {
      throw new TypeError("at once");
    },
  });
  expect(await stored(world, id)).toMatchObject({ status: "pending", last_error: "TypeError: at once" });
});

for (const value of [undefined, 7, "done", Symbol("done")]) {
  test(`a handler that returns ${String(value)} without a promise has completed`, async () => {
    const world = await setup({ workerId: "a" });
    const id = await afterOne(world, { k: () => value });
    expect(await stored(world, id)).toMatchObject({ status: "completed", attempts: 1, claimed_by: "a" });
  });
}

test("retryAfter chooses the wait, deadLetter ends the attempts", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const settled = heard(world.lh, "job:settled");
  await startWorker(world.lh, {
    later: () => Promise.reject(retryAfter(60_000, "closed until noon")),
    never: () => Promise.reject(deadLetter("no such customer")),
  });
  const later = await inbox.enqueue("later", 1);
  const never = await inbox.enqueue("never", 1);
  await until("both are settled", () => settled.length === 2);
  const waiting = await stored(world, later.id);
  expect(waiting).toMatchObject({
    status: "pending",
    attempts: 1,
    last_error: "RetryAfter: closed until noon",
  });
  expect(waiting.due_in_ms).toBeGreaterThan(40_000);
  expect(waiting.due_in_ms).toBeLessThanOrEqual(60_000);
  expect(await stored(world, never.id)).toMatchObject({
    status: "dead_letter",
    attempts: 1,
    last_error: "DeadLetter: no such customer",
  });
});

for (const kind of ["sms.send", "constructor", "__proto__", "toString"]) {
  test(`a job of the kind ${kind}, which nobody handles, waits, and an event tells`, async () => {
    const world = await setup({ workerId: "a" });
    const inbox = await world.queue();
    const unhandled = heard(world.lh, "kind:unhandled");
    const { id } = await inbox.enqueue(kind, 1, { partitionKey: "a" });
    await inbox.enqueue("k", 2, { partitionKey: "b" });
    const claimed = heard(world.lh, "jobs:claimed");
    await startWorker(world.lh, { k: () => {} });
    await until("the other job is done", async () => (await countOf(world, "pending")) === 1);
    await until("an event tells", async () => {
      await world.lh.housekeep();
      return unhandled.length > 0;
    });
    expect(await stored(world, id)).toMatchObject({ status: "pending", attempts: 0, last_error: null });
    expect(claimed).toHaveLength(1);
    expect((await inbox.why(id)).reason).toBe("no_handler");
    expect(unhandled.at(-1)).toEqual({ queue: "inbox", kind, jobs: 1 });
  });
}

test("a kind's retryDelayMs chooses the wait; null leaves it to the backoff; one that throws is told in the row", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const settled = heard(world.lh, "job:settled");
  const asked: unknown[] = [];
  const handle = () => Promise.reject(new Error("no"));
  await startWorker(world.lh, {
    chosen: {
      handle,
      retryDelayMs: (attempt, error) => {
        asked.push([attempt, (error as Error).message]);
        return 90_000;
      },
    },
    left: { handle, retryDelayMs: () => null },
    broken: {
      handle,
      retryDelayMs: () => {
        throw new Error("bad rule");
      },
    },
    asked: { handle: () => Promise.reject(retryAfter(30_000)), retryDelayMs: () => 90_000 },
  });
  const ids = new Map<string, string>();
  for (const kind of ["chosen", "left", "broken", "asked"]) ids.set(kind, (await inbox.enqueue(kind, 1)).id);
  await until("all are settled", () => settled.length === 4);
  const row = (kind: string) => stored(world, ids.get(kind)!);
  expect(asked).toEqual([[1, "no"]]);
  expect((await row("chosen")).due_in_ms).toBeGreaterThan(60_000);
  expect((await row("left")).due_in_ms).toBeLessThan(2_501);
  expect(await row("broken")).toMatchObject({
    status: "pending",
    last_error: expect.stringContaining("bad rule"),
  });
  expect((await row("broken")).due_in_ms).toBeLessThan(2_501);
  // What the handler says itself goes before the rule of its kind.
  expect((await row("asked")).due_in_ms).toBeLessThanOrEqual(30_000);
});

test("a kind's attemptsMax gives up before the job would", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const attempts: number[] = [];
  const handle = (job: WorkingJob) => {
    attempts.push(job.attempt);
    throw new Error("no");
  };
  await startWorker(world.lh, { k: { handle, attemptsMax: 2, retryDelayMs: () => 0 } });
  const { id } = await inbox.enqueue("k", 1, { maxAttempts: 9 });
  expect(await untilStatus(world, id, "dead_letter")).toMatchObject({ attempts: 2, last_error: "Error: no" });
  expect(attempts).toEqual([1, 2]);
});

test("middleware runs around the handler, the first outermost, and sees what it throws", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const words: string[] = [];
  const around =
    (name: string): Middleware =>
    async (job, next) => {
      words.push(`${name} before ${job.kind}`);
      try {
        return await next();
      } catch (error) {
        words.push(`${name} saw ${(error as Error).message}`);
        throw error;
      } finally {
        words.push(`${name} after`);
      }
    };
  await startWorker(
    world.lh,
    {
      k: () => {
        words.push("handler");
        throw deadLetter("no");
      },
    },
    { middleware: [around("outer"), around("inner")] },
  );
  const { id } = await inbox.enqueue("k", 1);
  await untilStatus(world, id, "dead_letter");
  expect(words).toEqual(
    "outer before k,inner before k,handler,inner saw no,inner after,outer saw no,outer after".split(","),
  );
});

test("middleware may swallow an error, may leave the handler out, and may fail by itself", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  const ran: string[] = [];
  const middleware: Middleware = async (job, next) => {
    if (job.kind === "left out") return;
    if (job.kind === "refused") throw deadLetter("not today");
    await next().catch(() => {});
  };
  const handle = (job: WorkingJob) => {
    ran.push(job.kind);
    throw new Error("no");
  };
  await startWorker(
    world.lh,
    { swallowed: handle, "left out": handle, refused: handle },
    { middleware: [middleware] },
  );
  const [swallowed, leftOut, refused] = await inbox.enqueueMany(
    ["swallowed", "left out", "refused"].map((kind) => ({ kind, payload: 1 })),
  );
  await untilStatus(world, swallowed!.id, "completed");
  await untilStatus(world, leftOut!.id, "completed");
  expect((await untilStatus(world, refused!.id, "dead_letter")).last_error).toBe("DeadLetter: not today");
  expect(ran).toEqual(["swallowed"]);
});

interface Jobs {
  readonly "mail.send": { readonly to: string };
  readonly "mail.count": number;
}

test("handlers are typed by the jobs of their queue", async () => {
  const world = await setup({ workerId: "a" });
  await world.queue();
  const inbox = await world.lh.queue<Jobs>("inbox");
  const sent: string[] = [];
  const handlers: Handlers<Jobs> = {
    "mail.send": (job) => {
      sent.push(job.payload.to);
      // @ts-expect-error the payload has no such field
      return job.payload.subject;
    },
    "mail.count": { handle: (job) => sent.push(`${job.payload + 1}`), timeoutMs: 1_000 },
  };
  // @ts-expect-error there is no such kind
  const unknown: Handlers<Jobs> = { "mail.sned": () => {} };
  const other = (job: WorkingJob<"mail.count", string>) => job.id;
  // @ts-expect-error this kind has another payload
  const wrong: Handlers<Jobs> = { ...handlers, "mail.count": other };
  expect([unknown, wrong]).toHaveLength(2);
  await startWorker(world.lh, {
    ...(handlers as unknown as AnyHandlers),
  });
  await inbox.enqueue("mail.send", { to: "ann@example.org" });
  await inbox.enqueue("mail.count", 6);
  await until("both have run", () => sent.length === 2);
  expect(sent.toSorted()).toEqual(["7", "ann@example.org"]);
});
