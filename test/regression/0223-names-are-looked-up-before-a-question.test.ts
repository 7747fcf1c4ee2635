import { expect, test } from "vitest";
import { leasehold } from "../cli/in-process.js";
import { setup } from "../support/world.js";

/** A command that asks asked about queues and workers that do not exist, and where nobody could be asked it said only "Add --yes." */

test.each([
  ["queues drop nosuch", "LH_UNKNOWN_QUEUE"],
  ["queues drop nosuch --force", "LH_UNKNOWN_QUEUE"],
  ["jobs redrive nosuch", "LH_UNKNOWN_QUEUE"],
  ["jobs discard nosuch --status pending", "LH_UNKNOWN_QUEUE"],
  ["dead redrive nosuch 0123456789ab", "LH_UNKNOWN_QUEUE"],
  ["dead discard inbox 0123456789ab", "CLI_NOT_FOUND"],
  ["workers drain web-9", "LH_UNKNOWN_WORKER"],
  ["workers evict web-9", "LH_UNKNOWN_WORKER"],
])("%s is not found, and asks nothing", async (line, code) => {
  const world = await setup();
  await world.queue();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  for (const more of [{}, { answers: ["y"] }]) {
    const ran = await leasehold(line.split(" "), { environment, ...more });
    expect(ran).toMatchObject({ exitCode: 3, stdout: "", questions: [] });
    expect(ran.stderr).toContain(`error ${code}:`);
  }
});
