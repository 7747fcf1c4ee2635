import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ConnectOptions, Leasehold } from "../../src/index.js";
import { surroundingsOf } from "../../src/leasehold.js";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "./worker-world.js";

const secrets = {
  payload: "s3cret-payload",
  header: "s3cret-header",
  key: "s3cret-idempotency-key",
  password: "s3cret-p@ss/word",
  token: "s3cret-token",
};
const url = `postgres://app:${secrets.password}@db.internal:5432/shop?sslmode=require`;
const addressed = `connect to ${url} failed, password=${secrets.password}, authorization: Bearer ${secrets.token}`;

/** Jobs that are enqueued twice, completed, retried and dead-lettered, and every event with an error, all with secrets in them. */
async function live(options: ConnectOptions): Promise<void> {
  const world = await setup({ ...options, workerId: "a" });
  const inbox = await world.queue();
  const dead = heard(world.lh, "job:dead_lettered");
  world.lh.on("job:settled", () => {
    throw new Error(addressed);
  });
  const worker = await startWorker(world.lh, {
    ok: (job) => job.transaction(async () => {}),
    bad: {
      retryDelayMs: () => 0,
      handle: async (job) => {
        if (job.attempt === 1) throw new Error(addressed);
        await Promise.reject({ payload: job.payload });
      },
    },
  });
  const secret = { payload: secrets.payload, fill: "x".repeat(5_000) };
  const given = { headers: { authorization: secrets.header }, idempotencyKey: secrets.key };
  await inbox.enqueue("ok", secret, given);
  await inbox.enqueue("ok", secret, given);
  await inbox.enqueue("bad", secret, { headers: given.headers, maxAttempts: 2 });
  await until("the last is a dead letter", () => dead.length === 1);
  emitFailures(world.lh);
  await worker.stop();
}

function emitFailures(lh: Leasehold): void {
  const { events } = surroundingsOf(lh);
  const error = Object.assign(new Error(addressed), { detail: `Failing row contains (${secrets.payload})` });
  events.emit("settle:failed", { queue: "inbox", id: "1", error });
  events.emit("activity:failed", { activity: "claim", failures: 1, error });
  events.emit("worker:failing", { workerId: "a", queue: "inbox", what: "claim", failures: 5, error });
  events.emit("database:lost", { reason: addressed });
  events.emit("tenants:unlisted", { supervisor: "s", error });
}

function expectNoSecret(lines: readonly string[]): void {
  const text = lines.join("\n");
  for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  expect(text).not.toContain("p@ss");
  expect(text).not.toContain("/word");
  for (const event of ["job:started", "job:failed", "job:dead_lettered", "settle:failed", "payload:warned"])
    expect(text).toContain(event);
}

/** What goes to stderr while the test runs. */
function printed(): string[] {
  const lines: string[] = [];
  const spy = vi.spyOn(console, "error").mockImplementation((line: unknown) => void lines.push(String(line)));
  onTestFinished(() => spy.mockRestore());
  return lines;
}

test("pino gets every line as a logger, and no line has a payload, a header or a secret in it", async () => {
  const lines: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(...chunk.toString().trimEnd().split("\n"));
      done();
    },
  });
  const logger = pino({ level: "trace" }, stream);
  await live({ logger });
  expectNoSecret(lines);
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.find(({ event }) => event === "job:failed")).toMatchObject({
    level: 40,
    kind: "bad",
    attempt: 1,
    error:
      "Error: connect to postgres://***@db.internal:5432/shop?sslmode=require failed, password=***, authorization: *** ***",
  });
  expect(records.find(({ event }) => event === "job:started")).toMatchObject({ token: expect.any(String) });
});

test("lines of JSON on stderr are objects with the event's fields, and have no secrets", async () => {
  const lines = printed();
  await live({ logger: "json", logLevel: "debug" });
  expectNoSecret(lines);
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(records.map(({ level }) => level))).toEqual(new Set(["debug", "info", "warn", "error"]));
  expect(records.find(({ event }) => event === "worker:started")).toMatchObject({
    level: "info",
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    message: "a works on inbox, 8 at a time",
    queue: "inbox",
    concurrency: 8,
  });
});

test("pretty lines have the level and the message, and no secrets", async () => {
  const lines = printed();
  await live({ logger: "pretty", logLevel: "debug" });
  expectNoSecret(lines.map((line) => line.replace(/^\S+ leasehold \w+: /, "")).concat(eventNames));
  for (const line of lines) expect(line).toMatch(/^\d{4}-\S+Z leasehold (debug|info|warn|error): \S[^\n]*$/);
  expect(lines.some((line) => line.endsWith("info: a works on inbox, 8 at a time"))).toBe(true);
});

/** Pretty lines have the words of an event, not its name. */
const eventNames = "job:started job:failed job:dead_lettered settle:failed payload:warned";

test("the level is warn on stderr unless another is asked for, and a level that there is not is refused", async () => {
  const lines = printed();
  await live({ logger: "json" });
  const levels = new Set(lines.map((line) => (JSON.parse(line) as { level: string }).level));
  expect(levels).toEqual(new Set(["warn", "error"]));
  await expect(setup({ logLevel: "verbose" as never })).rejects.toMatchObject({ option: "logLevel" });
});
