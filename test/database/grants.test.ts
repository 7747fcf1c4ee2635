import { expect, onTestFinished, test } from "vitest";
import type { ClaimedJob, Leasehold, Queue } from "../../src/index.js";
import { setup, type World } from "../support/world.js";

const roles = ["producer", "worker", "viewer", "operator"] as const;
type Role = (typeof roles)[number];

/** What an act is given: the library as the role sees it, and rows that the owner has prepared. */
interface Scene {
  readonly lh: Leasehold;
  readonly inbox: Queue;
  /** Held by the worker w1. */
  readonly held: ClaimedJob;
  readonly waiting: string;
  readonly dead: string;
  sql(text: string): Promise<unknown>;
}

type Act = (scene: Scene) => Promise<unknown>;

/**
 * Everything that can be tried, by who may do it. Rights are on tables, so two neighbours overlap: an operator updates rows and may therefore renew.
 */
const acts: readonly (readonly [name: string, may: readonly Role[], act: Act])[] = [
  ["open the queue", roles, ({ lh }) => lh.queue("inbox", { order: "key" })],
  ["find nothing to migrate", roles, ({ lh }) => lh.migrate()],
  ["enqueue", ["producer", "worker", "operator"], ({ inbox }) => inbox.enqueue("step", 1)],
  [
    "enqueue with a key",
    ["producer", "worker", "operator"],
    ({ inbox }) => inbox.enqueue("step", 1, { idempotencyKey: "a" }),
  ],
  [
    "enqueue many",
    ["producer", "worker", "operator"],
    ({ inbox }) => inbox.enqueueMany([{ kind: "step", payload: 1 }]),
  ],
  [
    "enqueue in a transaction",
    ["producer", "worker", "operator"],
    ({ lh, inbox }) => lh.transaction((tx) => inbox.enqueue("step", 1, { tx })),
  ],
  [
    "enqueue by SQL",
    ["producer", "worker", "operator"],
    ({ sql }) => sql(`select leasehold.enqueue('{"kind": "step"}')`),
  ],
  ["audit", ["worker", "viewer", "operator"], ({ lh }) => lh.audit()],
  ["read the history", ["worker", "viewer", "operator"], ({ lh }) => lh.history()],
  [
    "write an entry of the history",
    ["worker", "operator"],
    ({ sql }) => sql("insert into leasehold.history (at, kind) values (now(), 'x')"),
  ],
  [
    "write an entry in the name of another",
    [],
    ({ sql }) => sql("insert into leasehold.history (at, kind, actor) values (now(), 'x', 'somebody')"),
  ],
  ["delete from the history", [], ({ sql }) => sql("delete from leasehold.history")],
  ["change the history", [], ({ sql }) => sql("update leasehold.history set actor = 'somebody'")],
  ["ask for a bucket", roles, ({ sql }) => sql("select leasehold.bucket_of('k', 360)")],

  ["claim", ["worker"], async ({ inbox }) => (await inbox.claim({ workerId: "w2" })).length === 1],
  ["complete", ["worker"], ({ inbox, held }) => inbox.complete(held)],
  ["fail", ["worker"], ({ inbox, held }) => inbox.fail(held, new Error("no"))],
  ["release", ["worker"], ({ inbox, held }) => inbox.release(held)],
  ["run a job's transaction", ["worker"], ({ inbox }) => claimAndTransact(inbox)],
  ["housekeep", ["worker"], ({ lh }) => lh.housekeep()],
  ["fence", ["worker"], ({ lh }) => lh.transaction((tx) => lh.fence(tx, "r", 1n))],
  ["handle once", ["worker"], ({ lh }) => lh.transaction((tx) => lh.once(tx, "h", "m"))],
  ["make archive days", ["worker"], ({ sql }) => sql("select leasehold.make_archive_days('inbox', 9)")],
  ["draw a token", ["worker"], ({ sql }) => sql("select nextval('leasehold.lease_tokens')")],
  ["write to the registry", ["worker"], ({ sql }) => sql("update leasehold.workers set metadata = '{}'")],

  ["count", ["worker", "viewer", "operator"], ({ inbox }) => inbox.stats()],
  ["estimate", ["worker", "viewer", "operator"], ({ inbox }) => inbox.stats({ exact: false })],
  ["list", ["worker", "viewer", "operator"], ({ inbox }) => inbox.list()],
  ["list the archive", ["worker", "viewer", "operator"], ({ inbox }) => inbox.list({ status: "completed" })],
  ["list the queues", roles, ({ lh }) => lh.queues()],
  ["read the history", ["worker", "viewer", "operator"], ({ lh }) => lh.samples("inbox")],
  ["search", ["worker", "viewer", "operator"], ({ inbox }) => inbox.search({ error: "no" })],
  [
    "search dead letters and the archive",
    ["worker", "viewer", "operator"],
    ({ inbox }) => inbox.search({ status: "dead_letter" }),
  ],
  ["group dead letters", ["worker", "viewer", "operator"], ({ inbox }) => inbox.deadLetters()],
  [
    "retry a group",
    ["operator"],
    async ({ inbox }) => {
      const [group] = (await inbox.deadLetters()).groups;
      return (await inbox.retry({ fingerprint: group!.fingerprint, kind: group!.kind })) === 1;
    },
  ],
  [
    "discard a group",
    ["operator"],
    async ({ inbox }) => {
      const [group] = (await inbox.deadLetters()).groups;
      return (await inbox.discard({ fingerprint: group!.fingerprint })) === 1;
    },
  ],
  ["ask who owns a key", ["worker", "viewer", "operator"], ({ inbox }) => inbox.ownerOf("order:9182")],
  ["preview a ring", ["worker", "viewer", "operator"], ({ lh }) => lh.previewRing("inbox", { add: ["w9"] })],
  ["list the tenants", ["worker", "viewer", "operator"], ({ lh }) => lh.tenants()],
  ["get", ["worker", "viewer", "operator"], ({ inbox, waiting }) => inbox.get(waiting)],
  ["ask why", ["worker", "viewer", "operator"], ({ inbox, waiting }) => inbox.why(waiting)],
  [
    "read payloads by SQL",
    ["worker", "viewer", "operator"],
    ({ sql }) => sql("select payload from leasehold.inbox"),
  ],
  [
    "read idempotency keys",
    ["worker", "viewer", "operator"],
    ({ sql }) => sql("select * from leasehold.dedupe"),
  ],
  [
    "see the workers",
    ["worker", "viewer", "operator"],
    ({ sql }) => sql("select * from leasehold.worker_lease"),
  ],

  ["renew", ["worker", "operator"], async ({ inbox, held }) => (await inbox.renew(held)).state === "renewed"],
  ["discard", ["operator"], async ({ inbox, dead }) => (await inbox.discard({ ids: [dead] })) === 1],
  ["retry", ["operator"], async ({ inbox, dead }) => (await inbox.retry({ ids: [dead] })) === 1],
  ["pause", ["operator"], ({ inbox }) => inbox.pause()],
  ["resume", ["operator"], ({ inbox }) => inbox.resume()],
  ["ask a worker to drain", ["worker", "operator"], ({ lh }) => lh.drain("w1")],
  [
    "evict",
    ["worker", "operator"],
    ({ sql }) => sql("delete from leasehold.worker_lease where worker_id = 'w1'"),
  ],

  ["create a queue", [], ({ lh }) => lh.queue("other", { order: "key" })],
  ["grant", [], ({ lh }) => lh.grant()],
  ["create a table", [], ({ sql }) => sql("create table leasehold.mine (id int)")],
  [
    "create a function",
    [],
    ({ sql }) => sql("create function leasehold.mine() returns int language sql as 'select 1'"),
  ],
  ["alter the queue's table", [], ({ sql }) => sql("alter table leasehold.inbox add column mine int")],
  ["drop the queue's table", [], ({ sql }) => sql("drop table leasehold.inbox")],
  ["truncate the queue", [], ({ sql }) => sql("truncate leasehold.inbox")],
  [
    "insert a row by plain SQL",
    ["producer", "worker", "operator"],
    ({ sql }) => sql("insert into leasehold.inbox (kind, payload, partition_key) values ('k', '1', 'k')"),
  ],
  [
    "insert a row in a place of its own",
    [],
    ({ sql }) =>
      sql("insert into leasehold.inbox (kind, payload, partition_key, seq) values ('k', '1', 'k', 1)"),
  ],
  ["change the archive", [], ({ sql }) => sql("update leasehold.inbox_archive set payload = '1'")],
  ["delete from the archive", [], ({ sql }) => sql("delete from leasehold.inbox_archive")],
  ["change a queue's settings", [], ({ sql }) => sql("update leasehold.queues set buckets = 1")],
  ["delete a queue", [], ({ sql }) => sql("delete from leasehold.queues")],
  ["forget a migration", [], ({ sql }) => sql("delete from leasehold.migrations")],
  ["make one archive day", [], ({ sql }) => sql("select leasehold.make_archive_day('inbox', '2030-01-01')")],
  [
    "call the slow enqueue",
    [],
    ({ sql }) => sql("select leasehold.inbox_insert_once('[]', now(), now(), null, false)"),
  ],
];

async function claimAndTransact(inbox: Queue): Promise<void> {
  const [job] = await inbox.claim({ workerId: "w2" });
  await job!.transaction(
    async (tx) => void (await tx.query("create temporary table effects on commit drop as select 1")),
  );
}

async function granted(): Promise<World> {
  const world = await setup();
  await world.queue();
  await world.lh.grant();
  const names = roles.map((role) => `${world.schema}_${role}`).join(", ");
  onTestFinished(async () => {
    await world.sql(`drop owned by ${names}`);
    await world.sql(`drop role ${names}`);
  });
  return world;
}

function connectAs(world: World, role: Role): Promise<Leasehold> {
  const url = new URL(world.url);
  url.searchParams.set("options", `-c role=${world.schema}_${role}`);
  return world.connect({ url: url.href, connectionsMax: 3 });
}

async function prepare(world: World, lh: Leasehold): Promise<Scene> {
  await world.sql("delete from leasehold.inbox");
  await world.sql(
    "insert into leasehold.workers (id) values ('w1') on conflict (id) do update set status = 'alive'",
  );
  const owner = await world.lh.queue("inbox");
  await owner.resume();
  const [{ id: dead }, { id: waiting }] = [
    await owner.enqueue("step", 1),
    await owner.enqueue("step", 2, { partitionKey: "k" }),
  ];
  await world.sql("update leasehold.inbox set status = 'dead_letter', finished_at = now() where id = $1", [
    dead,
  ]);
  const [held] = await owner.claim({ workerId: "w1" });
  await owner.enqueue("step", 3, { partitionKey: "k" });
  await owner.enqueue("step", 4);
  const sql = (text: string): Promise<unknown> =>
    lh.transaction((tx) => tx.query(text.replaceAll("leasehold.", `${world.schema}.`)));
  return { lh, inbox: await lh.queue("inbox"), held: held!, waiting, dead, sql };
}

/** The SQLSTATE under whatever the library has wrapped around it. */
function sqlStateOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  if ("sqlState" in error) return error.sqlState;
  if ("cause" in error && error.cause !== undefined) return sqlStateOf(error.cause);
  return "code" in error ? error.code : undefined;
}

test.each(roles)("as %s everything on its list passes and all else is refused with 42501", async (role) => {
  const world = await granted();
  const lh = await connectAs(world, role);
  const wrong: string[] = [];
  for (const [name, may, act] of acts) {
    const scene = await prepare(world, lh);
    const outcome = await act(scene).then(
      (answer) => (answer === false ? "did nothing" : "passed"),
      (error: unknown) => sqlStateOf(error),
    );
    if (outcome !== (may.includes(role) ? "passed" : "42501")) wrong.push(`${name}: ${String(outcome)}`);
  }
  expect(wrong).toEqual([]);
});

test("grants may be run again, also after a queue was added, and the new queue has its rights from the start", async () => {
  const world = await granted();
  await world.lh.queue("mail", { order: "none" });
  const [producer, worker, viewer, operator] = await Promise.all(roles.map((role) => connectAs(world, role)));
  const { id } = await (await producer!.queue("mail")).enqueue("send", 1);
  const mail = await worker!.queue("mail");
  const [job] = await mail.claim({ workerId: "w1" });
  expect(await mail.fail(job!, new Error("no"))).toBe(true);
  expect(await worker!.housekeep()).toMatchObject({ elected: true });
  expect(await (await viewer!.queue("mail")).why(id)).toMatchObject({ reason: "backoff" });
  expect(await (await operator!.queue("mail")).retry({ ids: [id] })).toBe(1);
  await world.lh.grant();
  expect(await mail.claim({ workerId: "w1" })).toMatchObject([{ id, attempt: 2 }]);
});

test("a worker's housekeeping makes and drops archive days without any other right to change tables", async () => {
  const world = await granted();
  await world.sql("select leasehold.make_archive_days('inbox', 7, now() - interval '60 days')");
  await world.sql(`drop table leasehold.inbox_a${tomorrow()}`);
  const lh = await connectAs(world, "worker");
  expect(await lh.housekeep()).toMatchObject({ elected: true, daysMade: 1, daysDropped: 8 });
  const viewer = await (await connectAs(world, "viewer")).queue("inbox");
  expect(await viewer.list({ status: "completed" })).toEqual([]);
});

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");

test("the roles belong to one schema, can't log in, and a stranger with the schema's name may call nothing", async () => {
  const world = await granted();
  const other = await setup();
  await other.queue();
  const stranger = `${world.schema}_stranger`;
  await world.sql(`create role ${stranger} nologin`);
  onTestFinished(async () => void (await world.sql(`drop owned by ${stranger}; drop role ${stranger}`)));
  await world.sql(`grant usage on schema ${world.schema} to ${stranger}`);
  const logins = await world.sql("select 1 from pg_roles where rolname like $1 and rolcanlogin", [
    `${world.schema}\\_%`,
  ]);
  expect(logins).toEqual([]);
  const client = await world.client();
  const asRole = async (role: string, text: string): Promise<unknown> => {
    await client.query(`set role ${role}`);
    return await client.query(text).then(() => "passed", sqlStateOf);
  };
  const functions = await world.sql<{ call: string }>(
    `select oid::regprocedure::text as call from pg_proc where pronamespace = $1::regnamespace
     and has_function_privilege($2, oid, 'execute')`,
    [world.schema, stranger],
  );
  // A check constraint of the archive calls it for everybody who may read there; it tells nothing.
  expect(functions).toEqual([{ call: `${world.schema}.attaching_day(integer)` }]);
  expect(await asRole(stranger, `select ${world.schema}.enqueue('{"kind": "step"}')`)).toBe("42501");
  expect(await asRole(`${world.schema}_operator`, `select * from ${other.schema}.inbox`)).toBe("42501");
  expect(await asRole(`${world.schema}_operator`, `select * from ${world.schema}.inbox`)).toBe("passed");
});

test("names of 48 characters make roles of their own", async () => {
  const world = await setup();
  const schema = `${world.schema}_`.padEnd(48, "s");
  const lh = await world.connect({ schema });
  await lh.migrate();
  await lh.queue("q".repeat(48), { order: "key" });
  await lh.grant();
  const made = await world.sql("select rolname from pg_roles where rolname like $1", [`${schema}\\_%`]);
  expect(made).toHaveLength(4);
  const names = roles.map((role) => `${schema}_${role}`).join(", ");
  await world.sql(`drop owned by ${names}; drop role ${names}; drop schema ${schema} cascade`);
});
