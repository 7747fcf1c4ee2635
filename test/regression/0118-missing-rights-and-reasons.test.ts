import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { connect, type DatabaseUnavailableError, type Leasehold } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** A connection as a role that may use the schema and owns nothing of it. */
async function asGuest(world: World): Promise<Leasehold> {
  const role = `guest_${world.schema}`;
  await world.sql(`create role ${role} login password 'guest'`);
  await world.sql(`grant usage on schema ${world.schema} to ${role}`);
  await world.sql(`grant select on all tables in schema ${world.schema} to ${role}`);
  const url = new URL(inject("databaseUrl"));
  url.username = role;
  url.password = "guest";
  const lh = await connect({ url: url.href, schema: world.schema, logger: false });
  onTestFinished(async () => {
    await lh.close();
    const admin = new pg.Client({ connectionString: inject("databaseUrl") });
    await admin.connect();
    await admin.query(`drop owned by ${role}`);
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  return lh;
}

test("what only the owner may do says which right is missing, and who has it", async () => {
  const world = await setup();
  const mine = await world.queue("mail");
  const lh = await asGuest(world);
  const mail = await lh.queue("mail");
  for (const [name, act] of [
    ["queue", () => lh.queue("fresh", { order: "key" })],
    ["dropQueue", () => lh.dropQueue("mail")],
    ["change", () => mail.change({ maxAttempts: 3 })],
  ] as const)
    await expect((async () => await act())(), name).rejects.toMatchObject({
      code: "LH_MISSING_RIGHT",
      message: expect.stringMatching(/as the owner/),
      cause: expect.any(Error),
    });
  expect((await mine.stats()).pending).toBe(0);
});

test.each([
  ["nobody listens", "postgres://postgres@127.0.0.1:1/x"],
  ["nobody listens, at two addresses", "postgres://postgres@localhost:1/x"],
])("a short connectLimitMs does not hide why the connection failed: %s", async (_name, url) => {
  // Long enough for the first try to have failed; the tries take longer than that in all.
  const error = await connect({ url, connectLimitMs: 3_000, logger: false }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: "LH_DATABASE_UNAVAILABLE" });
  expect((error as Error).message).toMatch(/ECONNREFUSED/);
  const causes: string[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    causes.push((cause as Error & { code?: string }).code ?? "");
  expect(causes.join(" ")).toMatch(/ECONNREFUSED/);
  expect((error as DatabaseUnavailableError).isAmbiguous).toBe(false);
});
