import { expect, test } from "vitest";
import { openTransaction, untilBlockedBy } from "../support/claims.js";
import { setup, type World } from "../support/world.js";

/**
 * Found by the simulation (seeds 69 and 269 of its second version). A worker takes rows that carry its name under a token it does not know for a claim of its own whose answer was
 * lost, and gives their attempt back. Whether they are its own was told by comparing times, and two processes of one id could claim and register at the same time.
 */
test.each(["key", "none"] as const)(
  "what an earlier process of this id claimed counts as started, what this one claimed does not (order %s)",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 1 });
    await inbox.enqueue("work", 1);
    await world.sql(
      "insert into leasehold.workers (id, queues, generation, first_token) values ('a', '{inbox}', 1, 0)",
    );
    const claim = async (generation: number): Promise<unknown> => {
      const [job] = await world.sql(
        `select attempts, coalesce(crashes, 0) as crashes from leasehold.inbox_claim('a', array[0], null, 5, 5, 5, 1, 60000, '{}', null, null, null, null, ${generation})
         where id is not null`,
      );
      return job;
    };
    expect(await claim(1)).toEqual({ attempts: 1, crashes: 0 });
    expect(await claim(1)).toEqual({ attempts: 1, crashes: 0 }); // Its answer was lost.
    await world.sql("update leasehold.workers set generation = 2, first_token = null");
    expect(await claim(2)).toEqual({ attempts: 2, crashes: 1 }); // Another process of the id, which has not beaten yet.
    await world.sql(
      "update leasehold.workers set generation = 3, first_token = nextval('leasehold.lease_tokens')",
    );
    expect(await claim(3)).toEqual({ attempts: 3, crashes: 2 });
    expect(await claim(3)).toEqual({ attempts: 3, crashes: 2 });
  },
);

/** Found by seed 170: a claim that was long on its way took rows for a worker that was marked dead the next moment, and they were taken from it at once. */
test.each(["key", "none"] as const)(
  "a worker that was not seen for its TTL claims nothing (order %s)",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 1 });
    await inbox.enqueue("work", 1);
    await world.sql(
      "insert into leasehold.workers (id, queues, last_seen_at, ttl) values ('a', '{inbox}', now() - interval '31 s', '30 s')",
    );
    const claim =
      "leasehold.inbox_claim('a', array[0], null, 5, 5, 5, 1, 60000, '{}', null, null, null, null, 1)";
    const refused = { code: "55000", message: expect.stringMatching(/not seen for its TTL/) };
    await expect(world.sql(`select * from ${claim}`)).rejects.toMatchObject(refused);
    if (order === "key")
      await world.sql("insert into leasehold.inbox_turns (partition_bucket, turn) values (0, 7)");
    const woken = "leasehold.inbox_claim_woken('a', array[0], 5, 5, 60000, null, array[7::bigint], 1)";
    await expect(world.sql(`select * from ${woken}`)).rejects.toMatchObject(refused);
    await world.sql("update leasehold.workers set last_seen_at = now()");
    // More than once: the server tells of an error before it rolls back, and until then the refused claim's locks are skipped.
    const claimed = async (): Promise<unknown> =>
      await world.sql(`select id from ${claim} where id is not null`);
    await expect.poll(claimed, { timeout: 20_000 }).toHaveLength(1);
  },
);

/** Claims stop at a gate between their look at the registry and the token they draw. */
async function gateBeforeTheToken(
  world: World,
  order: "key" | "none",
): Promise<{ readonly pid: number; open(): Promise<void> }> {
  await world.sql("create table leasehold.gate ()");
  // Called by both kinds of claims right before.
  const name =
    order === "key"
      ? "inbox_note_taken(p_buckets int[], p_taken_to bigint[])"
      : "left_out(p_heads int[], p_crashes int[], p_over int[], p_suspects int)";
  await world.sql(`create or replace function leasehold.${name} returns ${order === "key" ? "void" : "int"}
    language plpgsql set lock_timeout = 0 as $$ begin perform 1 from leasehold.gate; ${order === "key" ? "" : "return 0;"} end $$`);
  const keeper = await openTransaction(world);
  await keeper.tx.query(`lock table ${world.schema}.gate in access exclusive mode`);
  return { pid: keeper.pid, open: () => keeper.rollback() };
}

test.each(["key", "none"] as const)(
  "a process that is replaced in the middle of its claim takes nothing (order %s)",
  async (order) => {
    const world = await setup();
    const inbox = await world.queue("inbox", { order, buckets: 1 });
    await inbox.enqueue("work", 1);
    await world.sql("update leasehold.inbox set attempts = 1");
    await world.sql("insert into leasehold.workers (id, queues, first_token) values ('a', '{inbox}', 0)");
    const gate = await gateBeforeTheToken(world, order);
    const claim =
      "leasehold.inbox_claim('a', array[0], null, 5, 5, 5, 1, 60000, '{}', null, null, null, null, 1)";
    const claiming = world.sql(`select id from ${claim}`).catch((error: unknown) => error);
    await untilBlockedBy(world, gate.pid);
    await world.sql("update leasehold.workers set generation = 2");
    await gate.open();
    expect(await claiming).toMatchObject({ code: "55000", message: expect.stringMatching(/replaced/) });
  },
);
