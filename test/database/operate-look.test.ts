import { expect, test } from "vitest";
import { InvalidOptionError, UnknownQueueError } from "../../src/index.js";
import { settableClock, setup } from "../support/world.js";

const sent = (record: unknown): unknown => JSON.parse(JSON.stringify(record));

test("queues are listed by name with what is stored about them", async () => {
  const world = await setup();
  expect(await world.lh.queues()).toEqual([]);
  const mail = await world.queue("mail", { order: "none", retentionMs: 0, buckets: 8, maxCrashes: 2 });
  const kinds = { "receipt.send": { maxAttempts: 3 } };
  await world.queue("inbox", { order: "key", strict: true, onDeadLetter: "park", kinds });
  await mail.pause();
  const queues = await world.lh.queues();
  expect(queues).toMatchObject([
    { name: "inbox", order: "key", strict: true, onDeadLetter: "park", buckets: 360, kinds, pausedAt: null },
    { name: "mail", order: "none", strict: false, buckets: 8, retentionMs: 0, maxCrashes: 2 },
  ]);
  expect(queues[1]!.pausedAt).toBeInstanceOf(Date);
  expect(queues[0]!.createdAt).toBeInstanceOf(Date);
  const { payloadLimitBytes: _, schema: __, ...settings } = mail.settings;
  expect(queues[1]).toMatchObject(settings);
  expect(sent(queues)).toMatchObject([{ name: "inbox" }, { name: "mail" }]);
});

test("the history of a queue is read oldest first, by time and by number", async () => {
  const start = new Date("2026-11-15T12:00:00Z");
  const clock = settableClock(start);
  const world = await setup({ clock });
  const inbox = await world.queue();
  expect(await world.lh.samples("inbox")).toEqual([]);
  const times: Date[] = [];
  for (let i = 0; i < 4; i++) {
    await inbox.enqueue("step", i);
    await world.lh.housekeep();
    times.push(clock.databaseNow()!);
    clock.advance(30_000);
  }
  const all = await world.lh.samples("inbox");
  expect(all.map((sample) => sample.pending)).toEqual([1, 2, 3, 4]);
  expect(all[0]).toEqual({
    takenAt: start,
    scheduled: 0,
    pending: 1,
    processing: 0,
    deadLetter: 0,
    due: 1,
    retrying: 0,
    expired: 0,
    oldestDueAt: start,
    share: 1,
    workers: 0,
    completedPerSecond: 0,
    retriedPerSecond: 0,
    deadLetteredPerSecond: 0,
    claimP50Ms: null,
    claimP99Ms: null,
    handlerP50Ms: null,
    handlerP99Ms: null,
  });
  const of = async (range: object) =>
    (await world.lh.samples("inbox", range)).map((sample) => sample.pending);
  expect(await of({ from: times[1] })).toEqual([2, 3, 4]);
  expect(await of({ from: times[1], to: times[2] })).toEqual([2, 3]);
  expect(await of({ limit: 2 })).toEqual([3, 4]);
  expect(sent(all)).toMatchObject([{ takenAt: start.toISOString() }, {}, {}, {}]);
});

test("the history of an unknown queue, or of no time, is refused", async () => {
  const world = await setup();
  await world.queue();
  await expect(world.lh.samples("other")).rejects.toBeInstanceOf(UnknownQueueError);
  for (const range of [
    { from: "yesterday" },
    { to: new Date(Number.NaN) },
    { limit: 0 },
    { limit: 1e9 },
    { form: new Date() },
    { from: new Date(2), to: new Date(1) },
    null,
  ])
    await expect(world.lh.samples("inbox", range as object)).rejects.toBeInstanceOf(InvalidOptionError);
});

test("tenants are listed by name, page by page, with all supervisors of a tenant", async () => {
  const world = await setup();
  expect(await world.lh.tenants()).toEqual([]);
  await world.sql(
    "insert into leasehold.workers (id, incarnation, last_seen_at, ttl) values ('w1', 'i1', '2026-11-15T12:00:00Z', '30 s')",
  );
  await world.sql(
    `insert into leasehold.tenant_leases (supervisor, tenant, owner, incarnation, token, state, expires_at)
     select s, t, o, i, 9007199254740993, st, e from (values
       ('tenants', 'acme', 'w1', 'i1', 'running', null::timestamptz), ('mails', 'acme', null, null, 'free', null),
       ('tenants', 'beta', 'w1', 'i1', 'draining', '2026-11-15T12:01:00Z'), ('tenants', 'gone', 'w1', 'i0', 'running', null)) v(s, t, o, i, st, e)`,
  );
  const all = await world.lh.tenants();
  expect(all.map(({ tenant, supervisor, owner, state }) => [tenant, supervisor, owner, state])).toEqual([
    ["acme", "mails", null, "free"],
    ["acme", "tenants", "w1", "running"],
    ["beta", "tenants", "w1", "draining"],
    ["gone", "tenants", "w1", "running"],
  ]);
  expect(all.map(({ expiresAt }) => expiresAt?.toISOString() ?? null)).toEqual([
    null,
    "2026-11-15T12:00:30.000Z",
    "2026-11-15T12:01:00.000Z",
    null,
  ]);
  expect(sent(all)).toMatchObject([{ fenceToken: "9007199254740993" }, {}, {}, {}]);
  const names = async (filter: object) => (await world.lh.tenants(filter)).map(({ tenant }) => tenant);
  expect(await names({ limit: 1 })).toEqual(["acme", "acme"]);
  expect(await names({ limit: 1, after: "acme" })).toEqual(["beta"]);
  expect(await names({ owner: "w1" })).toEqual(["acme", "beta", "gone"]);
  expect(await names({ owner: "w2" })).toEqual([]);
  for (const filter of [{ owner: 7 }, { after: "a\u0000" }, { limit: 0 }, { tenant: "acme" }])
    await expect(world.lh.tenants(filter as object)).rejects.toBeInstanceOf(InvalidOptionError);
});
