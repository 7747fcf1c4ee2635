import { expect, test } from "vitest";
import { failureOf } from "../../cli/failure.js";
import { DatabaseRefusedError } from "../../src/index.js";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

const advice =
  "The schema may be older than this version of leasehold. See what it lacks: leasehold migrate --plan; update it: leasehold migrate";

test("a command on a schema that lacks a column advises to migrate", async () => {
  const world = await setup();
  await world.queue();
  await world.sql("alter table leasehold.queues drop column dropped_at");
  await world.sql("update leasehold.migrations set checksum = 'older' where queue = '' and id = 1");
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const ran = await leasehold(["status"], { environment });
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toMatch(/^error LH_DATABASE_REFUSED: .*42703/);
  expect(ran.stderr).toContain(`\nadvice: ${advice}\n`);
  expect((await leasehold(["migrate"], { environment })).exitCode).toBe(0);
  expect((await leasehold(["status"], { environment })).exitCode).toBe(0);
});

test("a missing function gets the same advice, and other refusals their own", () => {
  const adviceFor = (sqlState: string): string | null =>
    failureOf(new DatabaseRefusedError("ask", sqlState, "no"), () => "theirs").advice;
  expect(adviceFor("42883")).toBe(advice);
  expect(adviceFor("23505")).toBe("theirs");
});
