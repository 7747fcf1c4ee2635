import { expect, onTestFinished, test } from "vitest";
import type { Library } from "../../src/database/migration.js";
import { library as own } from "../../src/database/migrations.generated.js";
import { setup, type World } from "../support/world.js";

/** A version that changed nothing but sql/grants, or only files of the schema, left the rights of the roles as they were. */

const rights = {
  schema: "leasehold.wake_workers(text, int[])",
  queue: "leasehold.inbox_receipt(uuid, timestamptz)",
};

/** Two queues, with roles, as if the version before had not granted two functions. */
async function withoutRights(): Promise<World> {
  const world = await setup();
  await world.queue();
  await world.queue("mail");
  await world.lh.grant();
  const roles = ["producer", "worker", "operator", "viewer"]
    .map((role) => `${world.schema}_${role}`)
    .join(", ");
  onTestFinished(async () => void (await world.sql(`drop owned by ${roles}; drop role ${roles}`)));
  for (const right of Object.values(rights))
    await world.sql(`revoke execute on function ${right} from ${world.schema}_operator`);
  expect(await granted(world)).toEqual([false, false]);
  return world;
}

async function granted(world: World): Promise<unknown[]> {
  return await Promise.all(
    Object.values(rights).map(async (right) => {
      const text = "select has_function_privilege($1, $2, 'execute') as granted";
      const name = right.replace("leasehold.", `${world.schema}.`);
      return (await world.sql<{ granted: boolean }>(text, [`${world.schema}_operator`, name]))[0]?.granted;
    }),
  );
}

const next: Library = { ...own, revision: own.revision + 1 };

test("a version that has no new file gives existing roles their rights, on the schema and its queues", async () => {
  const world = await withoutRights();
  const lh = await world.connect({ library: next });
  expect(await lh.migrate()).toBe(0);
  expect(await granted(world)).toEqual([true, true]);
});

test("a version with a new file of the schema alone gives rights on the queues too", async () => {
  const world = await withoutRights();
  const migrations = own.migrations.map((migration) =>
    migration.id === 1 ? { ...migration, sql: `${migration.sql}\n-- newer\n` } : migration,
  );
  const lh = await world.connect({ library: { ...next, migrations } });
  expect(await lh.migrate()).toBe(1);
  expect(await granted(world)).toEqual([true, true]);
});

test("rights are given by the next migrate when one was interrupted before it gave them", async () => {
  const world = await withoutRights();
  await world.sql("update leasehold.schema_version set revision = $1", [next.revision]);
  const lh = await world.connect({ library: next });
  expect(await lh.migrate()).toBe(0);
  expect(await granted(world)).toEqual([true, true]);
});

test("without the roles such a version creates none", async () => {
  const world = await setup();
  await world.queue();
  const lh = await world.connect({ library: next });
  expect(await lh.migrate()).toBe(0);
  expect(await world.sql("select from pg_roles where rolname like $1", [`${world.schema}%`])).toEqual([]);
});
