import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

test("jobs that are named by id are left alone when they have another status than the one that was given", async () => {
  const world = await setup();
  const queue = await world.queue();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const run = (...words: string[]): ReturnType<typeof leasehold> =>
    leasehold(["jobs", ...words, "--yes"], { environment });
  const dead = await queue.enqueue("mail", {}, { maxAttempts: 1 });
  for (const job of await queue.claim({ workerId: "w" })) await queue.fail(job, new Error("no"));
  const pending = await queue.enqueue("mail", {});
  const ids = [dead.id, pending.id];

  const discarded = await run("discard", "inbox", ...ids, "--status", "dead_letter");
  expect(discarded).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Discarded: 1\.\n/) });
  expect(await queue.get(pending.id)).toMatchObject({ status: "pending" });
  expect(await run("redrive", "inbox", ...ids, "--status", "dead_letter")).toMatchObject({ exitCode: 4 });
  const byId = await run("discard", "inbox", ...ids);
  expect(byId).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Discarded: 1\.\n/) });
});
