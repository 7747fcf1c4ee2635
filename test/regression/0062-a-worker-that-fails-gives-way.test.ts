import { expect, onTestFinished, test } from "vitest";
import type { Leasehold } from "../../src/index.js";
import { setup, type World } from "../support/world.js";
import { stored, untilEmpty, untilStatus } from "../worker/stored-jobs.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

const claims = "leasehold.inbox_claim, leasehold.inbox_claim_woken";
const completions = "leasehold.inbox_complete";

/** A connection as a role that lacks the right to execute these functions, until the test gives it back. */
async function lacking(
  world: World,
  workerId: string,
  functions: string,
): Promise<{ readonly lh: Leasehold; allow(): Promise<unknown> }> {
  await world.lh.grant();
  const roles = ["producer", "worker", "viewer", "operator"].map((role) => `${world.schema}_${role}`);
  onTestFinished(async () => {
    const admin = await world.client();
    for (const role of roles) await admin.query(`drop owned by ${role}; drop role ${role}`);
  });
  await world.sql(`revoke execute on function ${functions} from ${world.schema}_worker`);
  const url = new URL(world.url);
  url.searchParams.set("options", `-c role=${world.schema}_worker`);
  const lh = await world.connect({ url: url.href, workerId });
  return {
    lh,
    allow: () => world.sql(`grant execute on function ${functions} to ${world.schema}_worker`),
  };
}

function rows(count: number): { kind: string; payload: number; partitionKey: string }[] {
  return Array.from({ length: count }, (_, i) => ({ kind: "k", payload: i, partitionKey: `key ${i}` }));
}

test("a worker that may not claim gives its buckets to the others, says so, and comes back when it may", async () => {
  const world = await setup({ workerId: "well" });
  const inbox = await world.queue();
  const { lh: ill, allow } = await lacking(world, "ill", claims);
  const failing = heard(ill, "worker:failing");
  const recovered = heard(ill, "worker:recovered");
  const worker = await startWorker(ill, { k: () => {} });
  const well = await startWorker(world.lh, { k: () => {} });
  await inbox.enqueueMany(rows(300));
  await untilEmpty(world);
  expect(failing).toMatchObject([{ workerId: "ill", queue: "inbox", what: "claim", failures: 5 }]);
  const told = { what: "claim", reason: expect.stringContaining("42501"), since: expect.any(Date) };
  expect((await world.lh.workers()).find(({ id }) => id === "ill")).toMatchObject({
    state: "alive",
    failing: { inbox: told },
  });
  expect(new Set((await world.lh.ring("inbox")).owners)).toEqual(new Set(["well"]));
  expect([worker.load.owned, well.load.owned]).toEqual([0, 360]);
  await allow();
  await until("it is back", () => recovered.length === 1 && worker.load.owned > 0, 60_000);
  expect((await world.lh.workers()).map(({ failing: now }) => now)).toEqual([{}, {}]);
}, 120_000);

test("while every worker fails nothing runs, why() says so, and all of it runs when they can", async () => {
  const world = await setup({ workerId: "owner" });
  const inbox = await world.queue();
  const { lh: ill, allow } = await lacking(world, "ill", claims);
  const failing = heard(ill, "worker:failing");
  await startWorker(ill, { k: () => {} });
  const { id } = await inbox.enqueue("k", 1);
  await until("it has given up", () => failing.length === 1);
  await until("the registry says so", async () => (await inbox.why(id)).reason === "workers_failing");
  expect((await inbox.why(id)).words).toMatch(
    /no worker can take it: every claim of ill has failed since .*42501/,
  );
  await allow();
  await untilStatus(world, id, "completed", 60_000);
}, 120_000);

test("a worker that can't settle stops claiming; its rows run elsewhere when their leases run out, and it comes back when it can", async () => {
  const world = await setup({ workerId: "well" });
  const inbox = await world.queue("inbox", { order: "key", maxAttempts: 20, maxCrashes: 20 });
  const { lh: ill, allow } = await lacking(world, "ill", completions);
  const failing = heard(ill, "worker:failing");
  const recovered = heard(ill, "worker:recovered");
  const worker = await startWorker(ill, { k: () => {} }, { leaseMs: 2_000, concurrency: 4 });
  await inbox.enqueueMany(rows(12));
  await until("it has given up", () => failing.length === 1);
  expect(failing).toMatchObject([{ what: "settle", failures: 3 }]);
  const { id } = await inbox.enqueue("k", "later", { partitionKey: "later" });
  await startWorker(world.lh, { k: () => {} });
  await untilEmpty(world, 60_000);
  expect(await stored(world, id)).toMatchObject({ status: "completed", claimed_by: "well" });
  expect(worker.load.owned).toBe(0);
  await allow();
  await until("it is back", () => recovered.length === 1 && worker.load.owned > 0, 60_000);
}, 120_000);
