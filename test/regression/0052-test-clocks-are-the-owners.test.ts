import { expect, onTestFinished, test } from "vitest";
import { setup, type World } from "../support/world.js";

/**
 * Functions that run as their owner took the time of day from their caller: a worker's role emptied an archive of ten years, and a producer's
 * role enqueued a job that blocked its key until the year 2300.
 */

const roles = ["producer", "worker", "viewer", "operator"] as const;

async function granted(): Promise<World> {
  const world = await setup();
  await world.lh.queue("inbox", { order: "key", retentionMs: 3_650 * 86_400_000 });
  await world.lh.grant();
  const names = roles.map((role) => `${world.schema}_${role}`).join(", ");
  onTestFinished(async () => void (await world.sql(`drop owned by ${names}; drop role ${names}`)));
  return world;
}

/** Runs a statement under a role that the session has taken, and under a login of its own that is a member of it. */
async function as(world: World, role: string, text: string): Promise<unknown[]> {
  const login = `${world.schema}_login_${role}`;
  await world.sql(`create role ${login} login in role ${world.schema}_${role}`);
  const outcomes: unknown[] = [];
  const client = await world.client();
  for (const take of [`set role ${world.schema}_${role}`, `set session authorization ${login}`]) {
    await client.query(take);
    outcomes.push(
      await client.query(text.replaceAll("leasehold.", `${world.schema}.`)).then(
        () => "passed",
        (error: { code: string }) => error.code,
      ),
    );
    await client.query("reset role; reset session authorization");
  }
  await world.sql(`drop role ${login}`);
  return outcomes;
}

const enqueue = (role: string, request: object) =>
  [role, `select * from leasehold.inbox_enqueue('${JSON.stringify(request)}')`] as const;
const job = { kind: "step", partition_key: "k", id: "00000000-0000-7000-8000-000000000001" };

test("a granted role can't set the time of a claim, nor of a function that runs as its owner", async () => {
  const world = await granted();
  const attempts: (readonly [string, string])[] = [
    ["worker", "select leasehold.drop_archive_days('inbox', '2200-01-01')"],
    ["worker", "select leasehold.make_archive_days('inbox', 7, '2200-01-01')"],
    ["worker", "select * from leasehold.inbox_claim('w', '{0}', null, 1, 1, 1, 1, 1000, null, '2200-01-01')"],
  ];
  for (const role of ["producer", "worker", "operator"]) {
    attempts.push(enqueue(role, { jobs: [job], now: "2300-01-01" }));
    attempts.push(enqueue(role, { jobs: [{ ...job, idempotency_key: "i" }], now: "2300-01-01" }));
    attempts.push(enqueue(role, { jobs: [job], quiet: true, now: "2300-01-01" }));
  }
  for (const [role, text] of attempts)
    expect(await as(world, role, text), `${role}: ${text}`).toEqual(["42501", "42501"]);
  const days = await world.sql(
    "select 1 from pg_inherits where inhparent = 'leasehold.inbox_archive'::regclass",
  );
  expect(days).toHaveLength(9); // today, seven days ahead, the rest
  expect(await world.sql("select 1 from leasehold.inbox")).toEqual([]);
});

test("without a time of their own, the same calls pass, and a delay is not a time", async () => {
  const world = await granted();
  expect(await as(world, "worker", "select leasehold.drop_archive_days('inbox')")).toEqual([
    "passed",
    "passed",
  ]);
  expect(await as(world, "worker", "select leasehold.make_archive_days('inbox', 7, null)")).toEqual([
    "passed",
    "passed",
  ]);
  const request = { jobs: [{ kind: "step", delay_ms: 5_000 }], now: null };
  expect(await as(world, ...enqueue("producer", request))).toEqual(["passed", "passed"]);
});

test("the owner of the schema can set the time, also when it is not a superuser", async () => {
  const world = await granted();
  const owner = `${world.schema}_owner`;
  await world.sql(`create role ${owner} nologin`);
  onTestFinished(
    async () =>
      void (await world.sql(
        `reassign owned by ${owner} to current_user; drop owned by ${owner}; drop role ${owner}`,
      )),
  );
  await world.sql(`alter schema ${world.schema} owner to ${owner}`);
  await world.sql(`grant select, insert, update, delete on all tables in schema ${world.schema} to ${owner}`);
  await world.sql(`grant execute on all functions in schema ${world.schema} to ${owner}`);
  const client = await world.client();
  await client.query(`set role ${owner}`);
  const { rows } = await client.query(
    `select ${world.schema}.make_archive_days('inbox', 0, '2030-01-01') as made`,
  );
  expect(rows).toEqual([{ made: 1 }]);
});

test("these are all the functions that run as their owner, take a time and can be called by a role", async () => {
  const world = await granted();
  const found = await world.sql<{ name: string }>(
    `select distinct p.proname as name from pg_proc p cross join unnest($2::text[]) r(role)
     where p.pronamespace = $1::regnamespace and p.prosecdef and has_function_privilege($1 || '_' || r.role, p.oid, 'execute')
       and ('timestamptz'::regtype = any(p.proargtypes::oid[]) or p.prosrc ~ '''now''') order by 1`,
    [world.schema, [...roles]],
  );
  expect(found.map(({ name }) => name)).toEqual([
    "drop_archive_days",
    "inbox_enqueue",
    "make_archive_days",
    "trim_history",
  ]);
});
