import { expect, test } from "vitest";
import { settableClock, setup } from "../support/world.js";
import { heard } from "../worker/worker-world.js";

/** A row that used up its crashes was dead-lettered by whatever took it over, and no event told of it. */

const orders = ["key", "none"] as const;
const hourMs = 3_600_000;

async function crashed(order: "key" | "none") {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order, maxCrashes: 1 });
  const { id } = await inbox.enqueue("poison", 1, { partitionKey: "a" });
  expect(await inbox.claim({ workerId: "w", leaseMs: 1_000 })).toHaveLength(1);
  clock.advance(hourMs);
  const dead = heard(world.lh, "job:dead_lettered");
  const told = {
    queue: "inbox",
    id,
    kind: "poison",
    attempt: 1,
    error: "the lease ran out before the attempt was settled",
  };
  return { world, inbox, id, dead, told };
}

test.each(orders)("the claim that takes it over tells of it, once (order %s)", async (order) => {
  const { inbox, id, dead, told } = await crashed(order);
  const { id: next } = await inbox.enqueue("k", 2, { partitionKey: "a" });
  const jobs = await inbox.claim({ workerId: "v" });
  expect(dead).toEqual([told]);
  expect(jobs.map((job) => job.id)).toEqual([next]);
  expect(jobs[0]!.fenceToken).toBeGreaterThan(0n);
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter", crashes: 1 });
  await inbox.claim({ workerId: "v" });
  expect(dead).toHaveLength(1);
});

test.each(orders)("the sweep of housekeeping tells of it too (order %s)", async (order) => {
  const { world, inbox, id, dead, told } = await crashed(order);
  await world.lh.housekeep();
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter" });
  expect(dead).toEqual([told]);
  await world.lh.housekeep();
  expect(dead).toHaveLength(1);
});
