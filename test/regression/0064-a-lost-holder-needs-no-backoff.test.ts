import { describe, expect, test } from "vitest";
import { setup, type World } from "../support/world.js";

type Order = "key" | "none";

/** A job that worker a has claimed twice; its lease has run out. */
async function ranOut(order: Order): Promise<World> {
  const world = await setup();
  const inbox = await world.queue("inbox", { order, buckets: 1 });
  await inbox.enqueue("work", 1, { partitionKey: "k" });
  await world.sql("insert into leasehold.workers (id, queues, first_token) values ('a', '{inbox}', 1)");
  await inbox.claim({ workerId: "a" });
  await world.sql(
    "update leasehold.inbox set lease_expires_at = clock_timestamp() - interval '1 s', lease_generation = 5, attempts = 3",
  );
  return world;
}

/** What another worker gets at once, and how long the job waits otherwise. */
async function claimedElsewhere(
  world: World,
): Promise<{ readonly attempts: number[]; readonly isLater: boolean }> {
  const inbox = await world.lh.queue("inbox");
  const attempts: number[] = [];
  for (let pass = 0; pass < 3; pass++) {
    const jobs = await inbox.claim({ workerId: "b" });
    attempts.push(...jobs.map((job) => job.attempt));
  }
  const [row] = await world.sql(
    "select available_at > clock_timestamp() + interval '5 s' as later from leasehold.inbox",
  );
  return { attempts, isLater: row?.later === true };
}

/** Found in chaos runs with a lease of 5 s and a TTL of 4 s: recoveries of 13 to 15 s were a lease that ran out, and then the backoff of the third attempt. */
describe.each(["key", "none"] as const)("a row whose lease ran out (order %s)", (order) => {
  test("is due at once when an earlier process of its worker's id had claimed it", async () => {
    const world = await ranOut(order);
    await world.sql("update leasehold.workers set first_token = 100");
    expect(await claimedElsewhere(world)).toEqual({ attempts: [4], isLater: false });
  });

  test("is due at once when its worker was not seen for its TTL, marked dead or not", async () => {
    const world = await ranOut(order);
    await world.sql("update leasehold.workers set last_seen_at = clock_timestamp() - ttl");
    expect(await claimedElsewhere(world)).toEqual({ attempts: [4], isLater: false });
  });

  test("waits for its backoff while the process that had claimed it is alive, or is unknown", async () => {
    const world = await ranOut(order);
    expect(await claimedElsewhere(world)).toEqual({ attempts: [], isLater: true });
    const unknown = await ranOut(order);
    await unknown.sql("delete from leasehold.workers");
    expect(await claimedElsewhere(unknown)).toEqual({ attempts: [], isLater: true });
  });
});
