import { expect, test } from "vitest";
import { setup } from "../support/world.js";
import { heard, startWorker, until } from "../worker/worker-world.js";

/**
 * Error texts were made storable and then cut. A cut between the halves of a character above U+FFFF left half of it, which jsonb refuses (22P02): the heartbeat that told why
 * a worker fails failed for good, and so did its entry of the history.
 */
test.each(["", "x"])(
  "the reason of a worker that fails is stored wherever it is cut (after %j)",
  async (before) => {
    const world = await setup({ workerId: "ill" });
    const inbox = await world.queue();
    // One of the two texts has the middle of a character at the limit.
    await world.sql(`create function leasehold.refuse() returns trigger language plpgsql as
      $$ begin raise exception '%', '${before}' || repeat('😀', 400); end $$`);
    await world.sql(`create trigger refuse before update on leasehold.inbox
      for each row when (new.status = 'processing') execute function leasehold.refuse()`);
    const failing = heard(world.lh, "worker:failing");
    const dropped = heard(world.lh, "history:dropped");
    await startWorker(world.lh, { k: () => {} });
    await inbox.enqueue("k", 1);
    await until("it fails", () => failing.length === 1);
    await until("the registry or the log says so", async () => {
      const [worker] = await world.lh.workers();
      return worker?.failing.inbox !== undefined || dropped.length > 0;
    });
    await until("the history says so", async () => {
      const entries = await world.lh.history({ kind: "worker:failing" });
      return entries.length > 0 || dropped.length > 0;
    });
    expect(dropped).toEqual([]);
    const [worker] = await world.lh.workers();
    expect(worker?.failing.inbox?.reason).toContain("😀");
  },
);

test("a stack that is given to settle is stored wherever it is cut", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const before of ["", "x"]) {
    await inbox.enqueue("k", 1, { partitionKey: `key ${before}` });
    const [job] = await inbox.claim({ workerId: "a", limit: 1 });
    if (job === undefined) throw new Error("nothing was claimed");
    const outcome = { is: "dead_letter", error: "no", stack: before + "😀".repeat(2_000) } as const;
    expect(await inbox.settle([{ job, outcome }])).toEqual([true]);
  }
});
