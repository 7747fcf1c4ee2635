import { expect, test } from "vitest";
import { leasehold, type Ran } from "../cli/in-process.js";
import { setup, type World } from "../support/world.js";

/** Ctrl-C in a bulk command ended it without a word of what had been done, and whether it may be repeated. */

async function withDeadLetters(): Promise<World> {
  const world = await setup();
  await world.queue();
  await world.sql(
    `insert into leasehold.inbox (kind, status, finished_at, last_error)
      select 'old', 'dead_letter', now(), 'Error: no' from generate_series(1, 2500)`,
  );
  return world;
}

/** Interrupted when the first batch has been reported on the terminal. */
async function interrupted({ url, schema }: World, words: readonly string[]): Promise<Ran> {
  return await leasehold([...words, "--yes"], {
    environment: { DATABASE_URL: url, LEASEHOLD_SCHEMA: schema },
    columns: 80,
    isInterrupted: (errors) => /(redriven|discarded): 1,000$/.test(errors),
  });
}

test.each(["redrive", "discard"])(
  "jobs %s says how many are done, and goes on when it is run again",
  async (verb) => {
    const world = await withDeadLetters();
    const cut = await interrupted(world, ["jobs", verb, "inbox", "--kind", "old"]);
    expect(cut.exitCode).toBe(130);
    const done = verb === "redrive" ? "redriven" : "discarded";
    expect(cut.stderr).toContain(`CLI_INTERRUPTED:\u001b[0m Interrupted: 1,000 ${done} so far.`);
    expect(cut.stderr).toContain("The same command may be run again; it goes on with the rest.\n");
    const dead = "select 1 from leasehold.inbox where status = 'dead_letter'";
    // The command runs in this process, and goes on.
    await expect.poll(async () => (await world.sql(dead)).length).toBeLessThanOrEqual(1_500);
    const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
    const again = await leasehold(["jobs", verb, "inbox", "--kind", "old", "--yes"], { environment });
    expect(again.exitCode).toBe(0);
    expect(await world.sql(dead)).toEqual([]);
  },
);

test("dead redrive too, and with --json the error is an object", async () => {
  const world = await withDeadLetters();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const listed = await leasehold(["dead", "inbox", "--json"], { environment });
  const [group] = (JSON.parse(listed.stdout) as { groups: { fingerprint: string }[] }).groups;
  const cut = await interrupted(world, ["dead", "redrive", "inbox", group?.fingerprint ?? "", "--json"]);
  expect(cut.exitCode).toBe(130);
  expect(JSON.parse(/^.*(\{"error".*\})$/m.exec(cut.stderr)?.[1] ?? "")).toMatchObject({
    error: { code: "CLI_INTERRUPTED", message: expect.stringContaining("1,000 redriven"), exitCode: 130 },
  });
});

test("a command that changes nothing is ended by Ctrl-C without a word", async () => {
  const world = await withDeadLetters();
  const environment = { DATABASE_URL: world.url, LEASEHOLD_SCHEMA: world.schema };
  const ran = await leasehold(["status", "--watch"], { environment, isEnough: () => true });
  expect(ran).toMatchObject({ exitCode: 130, stderr: "" });
});
