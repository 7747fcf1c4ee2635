import { expect, test } from "vitest";
import type { JobRecord } from "../../src/index.js";
import { defaults } from "../../src/settings.js";
import { setup, type World } from "../support/world.js";

/** A page of large payloads, which are small on disk, ran an operator's process out of memory. */

/** As any producer may, in plain SQL: bytes of payload as text, of which next to nothing is stored. */
async function insert(world: World, bytes: number): Promise<string> {
  const [row] = await world.sql<{ id: string }>(
    "insert into leasehold.inbox (kind, payload, partition_key) values ('x', to_jsonb(repeat('ab', $1::int / 2)), 'k') returning id",
    [bytes],
  );
  return row?.id ?? "";
}

/** More than a row's part of a page of the default length. */
const large = 2 * Math.ceil(defaults.listBytesMax / defaults.listLimit / 2 + 1);

const pageBytes = (jobs: readonly JobRecord[]): number => JSON.stringify(jobs).length;

test("a list leaves out payloads that are too large for a page, and says so; get() has them", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const ids = [await insert(world, 10), await insert(world, large)];
  const page = await inbox.list();
  expect(page.map(({ id, payloadOmitted }) => [id, payloadOmitted])).toEqual([
    [ids[1], true],
    [ids[0], false],
  ]);
  expect(page[0]).toMatchObject({ payload: null, headers: {} });
  expect(page[1]).toMatchObject({ payload: "ababababab" });
  expect(pageBytes(page)).toBeLessThan(10_000);
  const [alone] = await inbox.list({ limit: 1 });
  expect(String(alone?.payload)).toHaveLength(large);
  const found = await inbox.get(ids[1] ?? "");
  expect(String(found?.payload)).toHaveLength(large);
  expect(found?.payloadOmitted).toBe(false);
});

test("the same for finished jobs, in the archive", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const id = await insert(world, large);
  await insert(world, 10);
  expect(await inbox.discard({ status: "pending" })).toBe(2);
  const page = await inbox.list({ status: "discarded" });
  expect(page.map(({ payloadOmitted }) => payloadOmitted)).toEqual([false, true]);
  expect(pageBytes(page)).toBeLessThan(10_000);
  expect((await inbox.get(id))?.payloadOmitted).toBe(false);
});

test("a search has the same limit, in the queue and in the archive", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await insert(world, large);
  for (const status of ["pending", "discarded"] as const) {
    const { jobs } = await inbox.search({ status });
    expect(jobs).toMatchObject([{ payload: null, payloadOmitted: true, status }]);
    await inbox.discard({ status: "pending" });
  }
});

test("get() leaves out a payload beyond getBytesMax", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const id = await insert(world, defaults.getBytesMax + 2);
  expect(await inbox.get(id)).toMatchObject({ payload: null, payloadOmitted: true });
});
