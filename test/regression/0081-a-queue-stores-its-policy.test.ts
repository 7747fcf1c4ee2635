import { expect, test } from "vitest";
import type { Queue } from "../../src/index.js";
import { settableClock, setup, type World } from "../support/world.js";

/** How often a job may fail was an option of each producer's process and never stored, so plain SQL and other processes did not know of it. */

const policy = {
  maxAttempts: 7,
  maxCrashes: 3,
  kinds: { rare: { maxAttempts: 2 }, fatal: { maxCrashes: 1 } },
};

const attemptsOf = (world: World) =>
  world.sql(
    "select kind, max_attempts as max, count(*)::int as jobs from leasehold.inbox group by 1, 2 order by 1, 2",
  );

/** One job of a kind on every way in. */
async function enqueueAllWays(world: World, inbox: Queue, kind: string, more: { maxAttempts?: number } = {}) {
  await inbox.enqueue(kind, 1, more);
  await inbox.enqueue(kind, 1, { ...more, idempotencyKey: `${kind} once` });
  await inbox.enqueueMany([{ kind, payload: 1, ...more }]);
  await inbox.enqueueMany([{ kind, payload: 1, ...more, idempotencyKey: `${kind} many` }]);
  await world.lh.transaction((tx) => inbox.enqueue(kind, 1, { ...more, tx }));
  const max = more.maxAttempts ?? null;
  const job = { kind, payload: 1, ...(max === null ? {} : { max_attempts: max }) };
  await world.sql("select * from leasehold.enqueue($1::jsonb)", [JSON.stringify([job])]);
  await world.sql("select * from leasehold.inbox_enqueue($1)", [JSON.stringify({ jobs: [job] })]);
  await world.sql(
    max === null
      ? "insert into leasehold.inbox (kind, payload) values ($1, '1')"
      : `insert into leasehold.inbox (kind, payload, max_attempts) values ($1, '1', ${max})`,
    [kind],
  );
}

test.each(["key", "none"] as const)(
  "a job whose producer says nothing has the attempts of its kind or queue, on every way in (order %s)",
  async (order) => {
    const world = await setup();
    await world.queue("inbox", { order, ...policy });
    const inbox = await (await world.connect()).queue("inbox");
    expect(inbox.settings).toMatchObject(policy);
    await enqueueAllWays(world, inbox, "rare");
    await enqueueAllWays(world, inbox, "usual");
    await enqueueAllWays(world, inbox, "own", { maxAttempts: 4 });
    await enqueueAllWays(world, inbox, "rare", { maxAttempts: 5 });
    expect(await attemptsOf(world)).toEqual([
      { kind: "own", max: 4, jobs: 8 },
      { kind: "rare", max: 2, jobs: 8 },
      { kind: "rare", max: 5, jobs: 6 }, // Two of them were duplicates.
      { kind: "usual", max: 7, jobs: 8 },
    ]);
  },
);

test.each(["key", "none"] as const)(
  "crashes are bounded by the kind's policy, or the queue's (order %s)",
  async (order) => {
    const clock = settableClock();
    const world = await setup({ clock });
    const inbox = await world.queue("inbox", { order, ...policy });
    const ids = new Map<string, string>();
    for (const kind of ["fatal", "rare", "usual"]) ids.set(kind, (await inbox.enqueue(kind, 1)).id);
    for (let i = 0; i < 40; i++) {
      await inbox.claim({ workerId: "w", leaseMs: 1_000 });
      clock.advance(3_600_000);
    }
    const crashes = Object.fromEntries(
      await Promise.all(
        [...ids].map(async ([kind, id]) => {
          const job = await inbox.get(id);
          return [kind, `${job?.status} ${job?.attempts} ${job?.crashes}`] as const;
        }),
      ),
    );
    expect(crashes).toEqual({ fatal: "dead_letter 1 1", rare: "dead_letter 3 3", usual: "dead_letter 3 3" });
  },
);

test("a policy that was changed counts for every process at once", async () => {
  const clock = settableClock();
  const world = await setup({ clock });
  const inbox = await world.queue("inbox", { order: "key", ...policy });
  const elsewhere = await (await world.connect()).queue("inbox");
  const { id } = await elsewhere.enqueue("usual", 1);
  expect(await elsewhere.claim({ workerId: "w", leaseMs: 1_000 })).toMatchObject([{ id }]);
  const change = {
    maxAttempts: 9,
    maxCrashes: 1,
    kinds: { usual: { maxAttempts: 8 } },
    deadLetterRetentionMs: 60_000,
  };
  expect(await inbox.change(change)).toMatchObject({ ...change, order: "key" });
  expect(inbox.settings.kinds).toEqual(change.kinds);
  await elsewhere.enqueue("usual", 1);
  await elsewhere.enqueue("rare", 1);
  expect(await attemptsOf(world)).toEqual([
    { kind: "rare", max: 9, jobs: 1 },
    { kind: "usual", max: 7, jobs: 1 },
    { kind: "usual", max: 8, jobs: 1 },
  ]);
  clock.advance(1_000);
  await elsewhere.claim({ workerId: "w", limit: 0 });
  expect(await inbox.get(id)).toMatchObject({ status: "dead_letter", crashes: 1 });
  clock.advance(61_000);
  await world.lh.housekeep();
  expect(await world.sql("select status from leasehold.inbox_archive")).toEqual([{ status: "dead_letter" }]);
  expect((await world.lh.queue("inbox", change)).settings).toEqual(inbox.settings);
  expect((await world.lh.queue("inbox", { maxCrashes: 2 })).settings).toEqual(inbox.settings);
  for (const wrong of [{ maxCrashes: 0 }, { maxAttempts: 1_001 }, { kinds: { k: { maxAttempts: 0 } } }])
    await expect(inbox.change(wrong)).rejects.toMatchObject({ code: "LH_INVALID_OPTION" });
});

/** A claim reads them as numbers: one that it can't read would stop the queue. */
test("policies that are not numbers are refused by the database too", async () => {
  const world = await setup();
  await world.queue();
  const wrong = [
    "[]",
    "5",
    '{"k": 5}',
    '{"k": [{}]}',
    '{"k": {"maxCrashes": "x"}}',
    '{"k": {"maxCrashes": 1.5}}',
  ];
  wrong.push('{"k": {"maxCrashes": null}}', '{"k": {"maxAttempts": 0}}', '{"k": {"maxAttempts": 1001}}');
  wrong.push('{"k": {"maxAttempts": [1]}}', '{"a": {}, "k": {"maxAttempts": 1e9}}');
  for (const kinds of wrong)
    await expect(
      world.sql("update leasehold.queues set kinds = $1::jsonb", [kinds]),
      kinds,
    ).rejects.toMatchObject({
      code: expect.stringMatching(/^23514$|^22/),
    });
  for (const kinds of ["{}", '{"k": {}}', '{"k": {"maxAttempts": 1000, "maxCrashes": 1}}'])
    await world.sql("update leasehold.queues set kinds = $1::jsonb", [kinds]);
});
