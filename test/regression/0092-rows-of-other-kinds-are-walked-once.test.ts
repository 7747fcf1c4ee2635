import { expect, test } from "vitest";
import type { ClaimedRow } from "../../src/work/claimed-row.js";
import { Fronts } from "../../src/work/fronts.js";
import { setup, type World } from "../support/world.js";

const foreign = 3_000;

/** A queue whose one bucket has many rows of a kind that the worker lacks, ten minutes old, and behind them some of a kind that it has. */
async function backlog(own: number): Promise<World> {
  const world = await setup();
  await world.queue("inbox", { order: "none", buckets: 1 });
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key, available_at, created_at, max_attempts, seq)
     select 'foreign', '1', 'k' || n, now() - interval '10 minutes', now() - interval '10 minutes', 3, nextval('leasehold.inbox_seq') from generate_series(1, $1::int) n`,
    [foreign],
  );
  for (let n = 0; n < own; n++) await add(world, n);
  return world;
}

const add = (world: World, n: number) =>
  world.sql("insert into leasehold.inbox (kind, payload) values ('own', to_jsonb($1::int))", [n]);

/** A claim as a worker makes it: the rows that it took, what it says besides, and how many rows it has fetched. */
async function claimFrom(world: World, after: string) {
  const client = await world.client();
  const fetched = async (): Promise<number> =>
    (
      await client.query(
        `select coalesce(idx_tup_fetch, 0)::int as n from pg_stat_xact_user_tables where relid = '${world.schema}.inbox'::regclass`,
      )
    ).rows[0].n;
  await client.query("begin");
  const before = await fetched();
  const { rows } = await client.query(
    `select * from ${world.schema}.inbox_claim('w', '{0}', array[$1], 100, 20, 10, 1, 60000, null, null, p_kinds => '{own}')`,
    [after],
  );
  const looked = (await fetched()) - before;
  await client.query("commit");
  const ends = rows.filter((row) => row.kind === "end").map((row) => row.partition_key as string);
  return {
    looked,
    end: ends[0] ?? null,
    payloads: rows.filter((row) => row.id !== null).map((row) => row.payload),
  };
}

/** Each claim looked at all of them. */
test("a claim tells up to where there is nothing for it, and the next one looks at nothing before", async () => {
  const world = await backlog(3);
  const first = await claimFrom(world, "~");
  expect(first.payloads.toSorted()).toEqual([0, 1, 2]);
  expect(first.looked).toBeGreaterThan(foreign);
  expect(first.end).not.toBeNull();
  await add(world, 3);
  const second = await claimFrom(world, first.end!);
  expect(second.payloads).toEqual([3]);
  expect(second.looked).toBeLessThan(50);
});

test("nothing younger than a minute is passed over", async () => {
  const world = await backlog(0);
  await world.sql("update leasehold.inbox set available_at = now() - interval '30 seconds'");
  expect((await claimFrom(world, "~")).end).toBeNull();
});

test("a worker goes on from there, and looks from the front once a second as before", () => {
  const fronts = new Fronts();
  const positions = new Map<number, string>();
  const at = (nowMs: number) => fronts.plan([1], positions, { nowMs, unsure: new Set() });
  const ends = new Map([[1, "0:1763480000000000:7"]]);
  const jobs: ClaimedRow[] = [];
  fronts.note({ jobs, fronts: new Map(), ends }, positions, { plan: at(0), tookMs: 1, nowMs: 0, owned: 1 });
  expect(at(10).after.get(1)).toBe("0:1763480000000000:7");
  const earlier = new Map([[1, "0:999:9"]]);
  fronts.note({ jobs, fronts: new Map(), ends: earlier }, positions, {
    plan: at(20),
    tookMs: 1,
    nowMs: 20,
    owned: 1,
  });
  expect(at(30).after.get(1)).toBe("0:1763480000000000:7");
  expect(at(1_000).after.get(1)).toBe("~");
});
