import { expect, test } from "vitest";
import type { Library } from "../../src/database/migration.js";
import { library as own } from "../../src/database/migrations.generated.js";
import { setup, type World } from "../support/world.js";

/** A library of an earlier version put its own functions over those of a newer one when it was started again in a rolling deploy. */

/** The next version: one function of the schema and one of every queue has another text. */
const marked = ["0001", "0004"];
const next = (oldest: number): Library => ({
  ...own,
  revision: own.revision + 1,
  oldest,
  migrations: own.migrations.map((migration) =>
    marked.includes(String(migration.id).padStart(4, "0"))
      ? {
          ...migration,
          sql: migration.sql.replaceAll(
            /(returns .*\n)?language plpgsql (?!immutable)([^$]*)as \$\$/g,
            "$&\n-- newer",
          ),
        }
      : migration,
  ),
});

async function bodies(world: World): Promise<unknown[]> {
  return await world.sql(
    "select oid::regprocedure::text as name, md5(prosrc) as body, prosrc like '%-- newer%' as is_newer from pg_proc where pronamespace = $1::regnamespace order by 1",
    [world.schema],
  );
}

test("an older library leaves a newer schema as it is, says so, and works on while it may", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const newer = await world.connect({ library: next(1) });
  expect(await newer.migrate()).toBeGreaterThan(0);
  const before = await bodies(world);
  expect(before).toContainEqual(expect.objectContaining({ is_newer: true }));
  const skipped: unknown[] = [];
  const older = await world.connect();
  older.on("migration:skipped", (event) => skipped.push(event));
  expect(await older.migrate()).toBe(0);
  expect(skipped).toEqual([{ schema: world.schema, revision: own.revision + 1, own: own.revision }]);
  expect(await bodies(world)).toEqual(before);
  for (const queue of [inbox, await older.queue("inbox")]) {
    await queue.enqueue("step", 1);
    const [job] = await queue.claim({ workerId: "w" });
    expect(await queue.complete(job!)).toBe(true);
  }
  expect(await newer.migrate()).toBe(0);
});

test("an older library makes and drops no queue and grants nothing", async () => {
  const world = await setup();
  await world.queue();
  await (await world.connect({ library: next(1) })).migrate();
  const before = await bodies(world);
  for (const act of [
    () => world.lh.queue("mail", { order: "key" }),
    () => world.lh.dropQueue("inbox"),
    () => world.lh.grant(),
  ])
    await expect(act()).rejects.toMatchObject({
      code: "LH_OUTDATED_LIBRARY",
      message: expect.stringContaining("change it"),
    });
  expect(await bodies(world)).toEqual(before);
});

test("a library that may not work on the schema any more is refused, and its running worker drains", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const done: unknown[] = [];
  const outdated = new Promise((resolve) => world.lh.on("library:outdated", resolve));
  const stopped = new Promise((resolve) => world.lh.on("worker:stopped", resolve));
  const worker = world.lh.worker("inbox", { step: async () => void done.push(1) }, { housekeepingMs: 1_000 });
  await worker.start();
  await inbox.enqueue("step", 1);
  await expect.poll(() => done, { timeout: 20_000 }).toEqual([1]);
  const newer = await world.connect({ library: next(own.revision + 1) });
  await newer.migrate();
  expect(await outdated).toMatchObject({
    queue: "inbox",
    error: expect.stringContaining("can't work on it"),
  });
  expect(await stopped).toMatchObject({ queue: "inbox", isClean: true });
  const refused = { code: "LH_OUTDATED_LIBRARY" };
  await expect(world.lh.queue("inbox")).rejects.toMatchObject(refused);
  await expect(world.lh.migrate()).rejects.toMatchObject(refused);
  await expect(world.lh.worker("inbox", { step: async () => {} }).start()).rejects.toMatchObject(refused);
  await (await newer.queue("inbox")).enqueue("step", 2);
});

test("old and new processes that start at once end with the new schema, whatever order they come in", async () => {
  const world = await setup();
  for (const name of ["a", "b", "c"]) await world.queue(name);
  const libraries = Array.from({ length: 8 }, (_, nth) => (nth % 2 === 0 ? next(1) : own));
  const connections = await Promise.all(libraries.map((library) => world.connect({ library })));
  await Promise.all(
    connections.map((lh) =>
      lh.migrate().catch((error: unknown) => expect(error).toMatchObject({ code: "LH_OUTDATED_LIBRARY" })),
    ),
  );
  const enqueues = (await bodies(world)).filter((row) =>
    /_enqueue\(text\)/.test((row as { name: string }).name),
  );
  expect(enqueues).toEqual(
    ["a", "b", "c"].map((queue) =>
      expect.objectContaining({ name: `${world.schema}.${queue}_enqueue(text)`, is_newer: true }),
    ),
  );
});

test("the database refuses the files of a library that knows nothing of revisions, and rolls them back", async () => {
  const world = await setup();
  const before = await bodies(world);
  const client = await world.client();
  await client.query("begin");
  await client.query(
    `create or replace function ${world.schema}.uuid_v7() returns uuid language sql as 'select null::uuid'`,
  );
  const record = `insert into ${world.schema}.migrations (id, queue, name, checksum) values (1, '', 'schema', 'old')
    on conflict (queue, id) do update set name = excluded.name, checksum = excluded.checksum, applied_at = now()`;
  await expect(client.query(record)).rejects.toMatchObject({
    code: "55000",
    message: expect.stringContaining("newer version"),
  });
  await client.query("rollback");
  expect(await bodies(world)).toEqual(before);
});
