import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup } from "../support/world.js";

test("a claim that met a locked table, as vacuum locks one to give its end back, is tried again", async () => {
  const retried: string[] = [];
  const world = await setup();
  const inbox = await world.queue("inbox", { order: "key" });
  world.lh.on("database:retried", ({ statement }) => retried.push(statement));
  await inbox.enqueue("receipt.send", 1, { partitionKey: "order:9182" });
  const vacuum = await openTransaction(world);
  await vacuum.tx.query(`lock table ${world.schema}.inbox_turns in access exclusive mode`);
  const claiming = inbox.claim({ workerId: "w1" });
  await untilBlockedBy(world, vacuum.pid);
  while (retried.length === 0) await new Promise(setImmediate);
  await vacuum.commit();
  expect(await claiming).toHaveLength(1);
});
