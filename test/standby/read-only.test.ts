import { expect, onTestFinished, test } from "vitest";
import { connect, diagnose, type Leasehold, type Queue } from "../../src/index.js";
import { createTenantSupervisor } from "../../src/tenants.js";
import { leasehold } from "../cli/in-process.js";
import { hotStandby } from "../support/hot-standby.js";
import { heard } from "../worker/worker-world.js";

interface Refused {
  readonly what: string;
  act(lh: Leasehold, inbox: Queue): Promise<unknown>;
}

const refused: readonly Refused[] = [
  { what: "a new queue", act: (lh) => lh.queue("other", { order: "none" }) },
  { what: "grant", act: (lh) => lh.grant() },
  { what: "enqueue", act: (_, inbox) => inbox.enqueue("k", 1) },
  { what: "enqueueMany", act: (_, inbox) => inbox.enqueueMany([{ kind: "k", payload: 1 }]) },
  { what: "claim", act: (_, inbox) => inbox.claim({ workerId: "by-hand" }) },
  { what: "retry", act: (_, inbox) => inbox.retry() },
  { what: "discard", act: (_, inbox) => inbox.discard({ kind: "k" }) },
  { what: "pause", act: (_, inbox) => inbox.pause() },
  { what: "change", act: (_, inbox) => inbox.change({ maxAttempts: 3 }) },
  { what: "housekeep", act: (lh) => lh.housekeep() },
  { what: "drain", act: (lh) => lh.drain("worker-1") },
  { what: "dropQueue", act: (lh) => lh.dropQueue("inbox", { force: true }) },
  { what: "worker.start", act: (lh) => lh.worker("inbox", { k: () => {} }).start() },
  {
    what: "a tenant supervisor",
    act: (lh) => createTenantSupervisor(lh, { fleet: true, hot: () => [], start: () => {} }).start(),
  },
];

test("on a standby every write and every worker is refused at once, reads answer, and doctor names it", async () => {
  const { standby, inbox: onPrimary, untilReplayed } = await hotStandby();
  const { id } = await onPrimary.enqueue("k", 1, { partitionKey: "a" });
  await untilReplayed();
  const lh = await connect({ url: standby.url, logger: false });
  onTestFinished(() => lh.close());
  const retried = heard(lh, "database:retried");
  const inbox = await lh.queue("inbox");

  const answers = await Promise.all(
    refused.map(async ({ what, act }) => {
      const error: unknown = await act(lh, inbox).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      return [what, error instanceof Error && "code" in error ? `${error.code} ${error.message}` : error];
    }),
  );
  for (const [what, answer] of answers)
    expect([what, answer]).toEqual([
      what,
      expect.stringMatching(/^LH_READ_ONLY_SERVER .*Connect to the primary\.$/),
    ]);
  // It has been a standby since connect(), so no failover was waited for.
  expect(retried).toEqual([]);

  expect(await lh.migrate()).toBe(0);
  expect(await inbox.list()).toMatchObject([{ id }]);
  expect(await inbox.stats()).toMatchObject({ due: 1 });
  expect(await inbox.why(id)).toMatchObject({ reason: "no_workers" });
  expect((await lh.health()).isReady).toBe(false);
  expect((await diagnose(lh)).findings.map(({ code }) => code)).toContain("replica");

  const fresh = await connect({ url: standby.url, schema: "fresh", logger: false });
  onTestFinished(() => fresh.close());
  await expect(fresh.migrate()).rejects.toMatchObject({ code: "LH_READ_ONLY_SERVER" });
});

test("commands that write say to name the primary, and commands that read work", async () => {
  const { standby, inbox, untilReplayed } = await hotStandby();
  await inbox.enqueue("k", 1);
  await untilReplayed();
  const environment = { DATABASE_URL: standby.url };
  const writes = ["enqueue inbox k 1", "queues pause inbox", "queues create other", "grant"];
  for (const line of writes) {
    const ran = await leasehold(line.split(" "), { environment });
    expect([line, ran.exitCode, ran.stderr]).toEqual([
      line,
      1,
      expect.stringMatching(/^error LH_READ_ONLY_SERVER: .*\nadvice: Name the primary with --url/),
    ]);
  }
  expect((await leasehold(["status"], { environment })).stdout).toMatch(/^inbox /m);
  expect((await leasehold(["doctor"], { environment })).stdout).toContain("read-only replica");
});
