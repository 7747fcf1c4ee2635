import { expect, test } from "vitest";
import { setup } from "../support/world.js";

/** Several processes that gave grants at once met in the catalog. */
test("grants may be given by several processes at once", async () => {
  const world = await setup();
  for (const name of ["a", "b", "c"]) await world.queue(name, { order: "key" });
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => world.lh.grant()));
  const names = ["producer", "worker", "viewer", "operator"]
    .map((role) => `${world.schema}_${role}`)
    .join(", ");
  await world.sql(`drop owned by ${names}; drop role ${names}`);
  expect(results.map((result) => result.status)).toEqual(Array(8).fill("fulfilled"));
});
