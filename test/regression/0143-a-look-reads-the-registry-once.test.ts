import { expect, test } from "vitest";
import { listWorkers } from "../../src/database/statements.generated.js";
import { diagnose, type Leasehold } from "../../src/index.js";
import { surroundingsOf } from "../../src/leasehold.js";
import { createMetrics } from "../../src/metrics.js";
import { setup } from "../support/world.js";

/** The registry was read again for every queue, by diagnose() twice: 2 000 000 rows for a scrape of 200 queues and 10 000 workers. */
test.each([
  ["a scrape", (lh: Leasehold) => createMetrics(lh).text()],
  ["diagnose", diagnose],
])("%s reads the registry once, however many queues there are", async (_name, look) => {
  const world = await setup();
  for (const name of ["first", "second", "third"]) await world.lh.queue(name, { order: "key" });
  const { database } = surroundingsOf(world.lh);
  const run = database.run.bind(database);
  const sent: string[] = [];
  database.run = (query, ...more) => {
    sent.push(query.name);
    return run(query, ...more);
  };
  await look(world.lh);
  expect(sent.filter((name) => name.includes(listWorkers.name))).toHaveLength(1);
});
