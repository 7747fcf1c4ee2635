import { expect, test } from "vitest";
import { report } from "../support/figures.js";
import { setup } from "../support/world.js";
import { startWorker, until } from "./worker-world.js";

test("a retry that falls due is found among far more blocked keys than a pass visits", async () => {
  const world = await setup({ workerId: "a" });
  const inbox = await world.queue();
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, available_at, attempts)
     select 'k', '0', 'blocked:' || i, clock_timestamp() + interval '1 hour', 1 from generate_series(1, 10000) i`,
  );
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, available_at, attempts)
     select 'k', '1', 'due:' || i, clock_timestamp() + interval '3 seconds', 1 from generate_series(1, 5) i`,
  );
  const startedAt: number[] = [];
  const dueAt = Date.now() + 3_000;
  await startWorker(world.lh, { k: () => void startedAt.push(Date.now()), fresh: () => {} });
  await until("all that are due have started", () => startedAt.length === 5);
  report("many blocked", { lateMs: Math.max(...startedAt) - dueAt }, { lateMs: 5_000 });
  expect(await inbox.stats()).toMatchObject({ pending: 10_000 });
});
