import { expect, test } from "vitest";
import { surroundingsOf } from "../../src/leasehold.js";
import { defaults } from "../../src/settings.js";
import { setup } from "../support/world.js";
import { heard, until } from "../worker/worker-world.js";

/** Entries that were too many to wait for a write were told only when a later write failed. */
test("entries that were too many to keep are told when the others have been written", async () => {
  const world = await setup({ workerId: "a" });
  const { lh } = world;
  await world.queue();
  const dropped = heard(lh, "history:dropped");
  lh.worker("inbox", { k: () => {} }, { handlesSignals: false });
  const { events } = surroundingsOf(lh);
  for (let n = 0; n < defaults.historyWaitingMax + 7; n++)
    events.emit("worker:recovered", { workerId: "a", queue: "inbox", what: "claim" });
  await until("the others are written", async () => {
    const [row] = await world.sql<{ n: number }>(
      "select count(*)::int as n from leasehold.history where kind = 'worker:recovered'",
    );
    return row?.n === defaults.historyWaitingMax;
  });
  await lh.close();
  expect(dropped).toMatchObject([{ entries: 7, error: { message: expect.stringContaining("1000") } }]);
});
