import { expect, test } from "vitest";
import { setup } from "../support/world.js";
import { stored, untilEmpty } from "./stored-jobs.js";
import { heard, startWorker, until } from "./worker-world.js";

/** In a rolling deploy the owner of a bucket may be a worker that lacks a new kind: its jobs were retried there until they were dead letters. */
for (const order of ["key", "none"] as const) {
  test(`jobs of a new kind run on the workers that have it and use up no attempt elsewhere, order ${order}`, async () => {
    const world = await setup({ workerId: "old" });
    const inbox = await world.queue("inbox", { order });
    const fresh = await world.connect({ workerId: "new" });
    const ran = new Map<string, Set<string>>([
      ["old", new Set()],
      ["new", new Set()],
    ]);
    const handler = (where: string) => (job: { readonly kind: string }) => void ran.get(where)?.add(job.kind);
    const settled = [world.lh, fresh].map((lh) => heard(lh, "job:settled"));
    await startWorker(world.lh, { "old.kind": handler("old") });
    await startWorker(fresh, { "old.kind": handler("new"), "new.kind": handler("new") });
    const jobs = Array.from({ length: 80 }, (_, n) => ({
      kind: n % 2 === 0 ? "new.kind" : "old.kind",
      payload: n,
      partitionKey: `key ${n % 27}`, // kinds alternate along a key
    }));
    await inbox.enqueueMany(jobs);
    await untilEmpty(world, 60_000);
    expect(new Set(settled.flat().map(({ outcome }) => outcome))).toEqual(new Set(["complete"]));
    expect(settled.flat()).toHaveLength(80);
    expect(ran.get("old")).not.toContain("new.kind");
    expect(ran.get("new")).toContain("new.kind");
    const attempts = await world.sql("select distinct attempts from leasehold.inbox_archive");
    expect(attempts).toEqual([{ attempts: 1 }]);
  });
}

test("a job of a kind that nobody has runs when a worker comes that has it, and its key waits for it", async () => {
  const world = await setup({ workerId: "old" });
  const inbox = await world.queue();
  const order: string[] = [];
  const note = (job: { readonly kind: string }) => void order.push(job.kind);
  await startWorker(world.lh, { "old.kind": note });
  const { id } = await inbox.enqueue("new.kind", 1, { partitionKey: "a" });
  await inbox.enqueue("old.kind", 2, { partitionKey: "a" });
  await inbox.enqueue("old.kind", 3, { partitionKey: "b" });
  await until("the other key has run", () => order.length === 1);
  expect((await inbox.why(id)).words).toContain("no live worker has a handler for the kind new.kind");
  const fresh = await world.connect({ workerId: "new" });
  await startWorker(fresh, { "new.kind": note });
  await untilEmpty(world, 60_000);
  expect(order).toEqual(["old.kind", "new.kind", "old.kind"]);
  expect(await stored(world, id)).toMatchObject({ status: "completed", attempts: 1 });
});
