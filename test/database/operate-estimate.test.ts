import { expect, test } from "vitest";
import { InvalidOptionError } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

/** Rows of about a kilobyte straight into the table; of ten, seven wait, one is due in an hour, one has failed before, one is dead. */
async function fill(world: World, rows: number): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (seq, kind, payload, partition_key, status, available_at, attempts, max_attempts, finished_at)
     select n, 'bulk', to_jsonb(repeat(md5(n::text), 30)), 'k' || n, (array['dead_letter', 'scheduled'])[n % 10],
       now() - interval '1 hour', 0, 12, case when n % 10 = 1 then now() end
     from generate_series(1, $1::int) n where n % 10 in (1, 2)`,
    [rows],
  );
  await world.sql(
    `insert into leasehold.inbox (id, seq, kind, payload, partition_key, status, available_at, attempts, max_attempts)
     select gen_random_uuid(), n, 'bulk', to_jsonb(repeat(md5(n::text), 30)), 'k' || n, 'pending', now() - n * interval '1 ms', (n % 10 = 3)::int, 12
     from generate_series(1, $1::int) n where n % 10 not in (1, 2)`,
    [rows],
  );
}

test("an estimate of a large queue reads a part of it and comes close", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await fill(world, 30_000);
  const exact = await inbox.stats();
  expect(exact).toMatchObject({
    pending: 24_000,
    scheduled: 3_000,
    deadLetter: 3_000,
    retrying: 3_000,
    share: 1,
  });
  const estimate = await inbox.stats({ exact: false });
  expect(estimate.share).toBeGreaterThan(0);
  expect(estimate.share).toBeLessThan(1);
  for (const [name, slack] of [
    ["pending", 0.15],
    ["due", 0.15],
    ["scheduled", 0.5],
    ["deadLetter", 0.5],
    ["retrying", 0.5],
  ] as const) {
    expect(estimate[name], name).toBeGreaterThan(exact[name] * (1 - slack));
    expect(estimate[name], name).toBeLessThan(exact[name] * (1 + slack));
  }
  expect(JSON.parse(JSON.stringify(estimate))).toMatchObject({ pending: estimate.pending });
});

test("the oldest due job at the front of a large queue is found although a sample rarely has it", async () => {
  const world = await setup();
  const inbox = await world.queue();
  await fill(world, 30_000);
  await world.sql(
    `insert into leasehold.inbox (id, seq, kind, payload, partition_key, available_at, max_attempts)
     values ('00000000-0000-7000-8000-000000000000', 40000, 'old', '1', 'old', '2026-01-01T00:00:00Z', 12)`,
  );
  const { oldestDueAt, share } = await inbox.stats({ exact: false });
  expect(share).toBeLessThan(1);
  expect(oldestDueAt).toEqual(new Date("2026-01-01T00:00:00Z"));
});

test("an estimate of an empty queue is zero, and of a queue in which nothing is due has no oldest", async () => {
  const world = await setup();
  const inbox = await world.queue();
  const zero = { pending: 0, processing: 0, deadLetter: 0, due: 0, oldestDueAt: null, share: 1 };
  expect(await inbox.stats({ exact: false })).toMatchObject(zero);
  await inbox.enqueue("later", 1, { delayMs: 60_000 });
  expect(await inbox.stats({ exact: false })).toMatchObject({ ...zero, scheduled: 1 });
});

test("stats refuse what they do not understand", async () => {
  const world = await setup();
  const inbox = await world.queue();
  for (const options of [{ exact: 1 }, { exact: null }, { exat: false }, null, "exact"])
    await expect(inbox.stats(options as object)).rejects.toBeInstanceOf(InvalidOptionError);
});
