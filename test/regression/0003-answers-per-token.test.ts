import { expect, test } from "vitest";
import { binder } from "../../src/database/bind.js";
import { renewJobs } from "../../src/database/statements.generated.js";
import { complete } from "../../src/index.js";
import { takenOver } from "../support/claims.js";

/** Answers were matched by id alone, so a stale token beside the current one of its row was reported as held. */
test("of a stale and a current token of one row only the current one is answered with held", async () => {
  const { there, stale, current } = await takenOver("w1");
  const settlements = [stale, current].map((job) => ({ job, outcome: complete }));
  expect(await there.settle(settlements)).toEqual([false, true]);
});

test("of a stale and a current token of one row only the current one is renewed", async () => {
  const { world, stale, current } = await takenOver("w1");
  const jobs = [stale, current].map((job) => ({ id: job.id, token: String(job.fenceToken) }));
  const query = binder({ schema: world.schema, queue: "inbox" })(renewJobs, {
    jobs: JSON.stringify(jobs),
    workerId: "w1",
    leaseMs: 90_000n,
    now: null,
  });
  const rows = (await world.sql(query.text, [...query.values])) as { token: string; state: string }[];
  expect(rows.map(({ token, state }) => [BigInt(token), state])).toEqual([
    [stale.fenceToken, "lost"],
    [current.fenceToken, "renewed"],
  ]);
});

test("a settle that names one lease twice is refused before it reaches the database", async () => {
  const { there, current } = await takenOver("w1");
  const settlements = [current, current].map((job) => ({ job, outcome: complete }));
  await expect(there.settle(settlements)).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
});
