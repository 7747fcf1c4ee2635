import { expect, test } from "vitest";
import { binder } from "../../../src/database/bind.js";
import { GuardedDatabase } from "../../../src/database/guarded-database.js";
import { Replica } from "../../../src/database/replica.js";
import { DatabaseRefusedError, DatabaseUnavailableError } from "../../../src/errors.js";
import { createEvents } from "../../../src/events.js";
import type { Database, Query } from "../../../src/seams/database.js";
import { defaults } from "../../../src/settings.js";

type Answers = Record<string, () => readonly object[] | Promise<readonly object[]>>;

const place = (isStandby: boolean, started: string) => () => [
  { is_standby: isStandby, database_id: "5", started },
];
const system = (id: string) => () => [{ system_id: id }];
const refusing = (sqlState: string) => (): never => {
  throw new DatabaseRefusedError("a statement", sqlState, "no");
};
const list: Query<{ who: string }> = { name: "lh_list_1", text: "", values: [] };

/** A server that answers statements by the middle of their names. */
function server(answers: Answers): { readonly database: Database; readonly asked: string[] } {
  const asked: string[] = [];
  const run = async <R>({ name }: Query<R>): Promise<readonly R[]> => {
    const key = name.replace(/^lh_(.+)_[0-9a-f]+$/, "$1");
    asked.push(key);
    return (await Promise.resolve(answers[key]?.() ?? [])) as readonly R[];
  };
  const tx = { run, query: () => Promise.reject(new Error("not used")) };
  const transaction: Database["transaction"] = (work) => work(tx);
  return { database: { run, transaction, close: () => Promise.resolve() }, asked };
}

function world(ofReplica: Answers) {
  let nowMs = 0;
  const limits: (() => void)[] = [];
  const sleep = (ms: number, wake?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (ms < defaults.replicaSilenceMs) return resolve();
      limits.push(resolve);
      wake?.addEventListener("abort", () => resolve());
    });
  const runOut = (): void => {
    for (const resolve of limits) resolve();
  };
  const clock = { monotonicMs: () => nowMs, epochMs: () => nowMs, databaseNow: () => null, sleep };
  const random = { fraction: () => 0, bytes: (count: number) => new Uint8Array(count) };
  const events = createEvents();
  const told: string[] = [];
  events.on("replica:lost", ({ reason }) => told.push(`lost: ${reason}`));
  events.on("replica:regained", ({ lostMs }) => told.push(`regained after ${lostMs}`));
  const ofPrimary = {
    read_server_place: place(false, "1"),
    read_system_id: system("s"),
    list: () => [{ who: "primary" }],
  };
  const { database } = server(ofPrimary);
  const primary = new GuardedDatabase({ database, clock, random, events });
  const { database: behind, asked } = server(ofReplica);
  const bind = binder({ schema: "leasehold", queue: "inbox" });
  const replica = new Replica({ replica: behind, primary, clock, events, bind });
  const who = async (): Promise<string | undefined> => (await replica.run(list))[0]?.who;
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    await who();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { replica, told, asked, who, pass, runOut };
}

const fit = {
  version: 180_000,
  datestyle: "ISO, MDY",
  read_only: true,
  encoding: "UTF8",
  float_digits: 1,
  path: ["pg_catalog", "public"],
};

const healthy: Answers = {
  read_server: () => [fit],
  read_server_place: place(true, "2"),
  read_system_id: system("s"),
  list: () => [{ who: "replica" }],
  read_replayed_at: () => [{ is_standby: true, replayed_at: new Date(7) }],
};

test("a server that hides its identity and its lag is used, and its answers have no age", async () => {
  const hidden = {
    read_system_id: refusing("42501"),
    read_replayed_at: refusing("0A000"),
    read_replica_lag: refusing("0A000"),
  };
  const { replica, told } = world({ ...healthy, ...hidden });
  await replica.open();
  expect(await replica.runAsOf(list)).toEqual({ rows: [{ who: "replica" }], source: "replica", asOf: null });
  expect(await replica.status()).toEqual({ isUsed: true, behindMs: null, reason: null });
  expect(told).toEqual([]);
});

test.each(["40001", "57014", "42P01", "25006"])(
  "a read that the replica refuses with %s is answered by the primary, and the replica stays in use",
  async (sqlState) => {
    const answers = { ...healthy };
    const { replica, told, who } = world(answers);
    await replica.open();
    answers.list = refusing(sqlState);
    expect(await who()).toBe("primary");
    answers.list = healthy.list!;
    expect(await who()).toBe("replica");
    expect(told).toEqual([]);
  },
);

test("a lag or a check that the replica refuses does not give it up, and is not known", async () => {
  const answers = { ...healthy };
  const { replica, told } = world(answers);
  await replica.open();
  answers.read_replica_lag = refusing("40001");
  answers.read_server_place = refusing("57014");
  expect(await replica.status()).toEqual({ isUsed: true, behindMs: null, reason: null });
  expect(told).toEqual([]);
});

test("a read that gets no answer is answered by the primary, and so are the next until a check", async () => {
  const answers = { ...healthy };
  const { replica, told, who, pass } = world(answers);
  await replica.open();
  expect(await who()).toBe("replica");
  answers.list = () => {
    throw new DatabaseUnavailableError("list", false);
  };
  expect([await who(), await who()]).toEqual(["primary", "primary"]);
  answers.list = healthy.list!;
  await pass(defaults.replicaCheckMs - 1);
  expect(await who()).toBe("primary");
  await pass(1);
  expect(await who()).toBe("replica");
  expect(told).toEqual([
    expect.stringContaining("could not be reached"),
    `regained after ${defaults.replicaCheckMs}`,
  ]);
});

test("another server behind the address is noticed by the next check, and told once", async () => {
  const answers = { ...healthy };
  const { replica, told, who, pass } = world(answers);
  await replica.open();
  answers.read_system_id = system("another");
  for (let n = 0; n < 3; n++) await pass(defaults.replicaCheckMs);
  expect(await who()).toBe("primary");
  expect(told).toEqual([expect.stringContaining("another")]);
  expect(await replica.status()).toMatchObject({ isUsed: false, reason: expect.stringContaining("another") });
});

test("on an idle primary the lag is the time since the replica was last found to have everything", async () => {
  const dayMs = 86_400_000;
  let behindMs = 0;
  const { replica, pass } = world({ ...healthy, read_replica_lag: () => [{ behind_ms: behindMs }] });
  await replica.open();
  behindMs = dayMs;
  expect(await replica.status()).toMatchObject({ behindMs: dayMs });
  behindMs = 0;
  expect(await replica.status()).toMatchObject({ behindMs: 0 });
  await pass(400);
  behindMs = dayMs;
  expect(await replica.status()).toMatchObject({ behindMs: 400 });
});

test.each([
  ["datestyle", { datestyle: "German, DMY" }],
  ["extra_float_digits", { float_digits: -3 }],
  ["search_path", { path: ["mine", "pg_catalog"] }],
  ["client_encoding", { encoding: "LATIN1" }],
])("a replica whose connection has another %s is not used, and the reason names it", async (name, change) => {
  const answers = { ...healthy, read_server: () => [{ ...fit, ...change }] };
  const { replica, who } = world(answers);
  await replica.open();
  expect(await who()).toBe("primary");
  expect(await replica.status()).toMatchObject({ isUsed: false, reason: expect.stringContaining(name) });
});

test("checks are made once in a while, not for each read", async () => {
  const { replica, asked, who } = world(healthy);
  await replica.open();
  for (let n = 0; n < 50; n++) await who();
  expect(asked.filter((name) => name === "read_server_place")).toHaveLength(1);
});

test("reads above the limit are answered by the primary at once, and the replica stays in use", async () => {
  const answers = { ...healthy };
  const { replica, told, who } = world(answers);
  await replica.open();
  let answer = (_: readonly object[]): void => {};
  const held = new Promise<readonly object[]>((resolve) => {
    answer = resolve;
  });
  answers.list = () => held;
  const first = Array.from({ length: defaults.replicaReadsMax }, () => who());
  expect([await who(), (await replica.runAsOf(list)).source]).toEqual(["primary", "primary"]);
  expect(await replica.status()).toMatchObject({ isUsed: true });
  answer([{ who: "replica" }]);
  expect(new Set(await Promise.all(first))).toEqual(new Set(["replica"]));
  expect(await who()).toBe("replica");
  expect(told).toEqual([]);
});

test("checks and lags are asked one after another, so that one connection is enough for them", async () => {
  let [underWay, most] = [0, 0];
  const counted = (rows: readonly object[]) => async (): Promise<readonly object[]> => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return rows;
  };
  const { replica } = world({
    ...healthy,
    read_server_place: counted(place(true, "2")()),
    read_replica_lag: counted([{ behind_ms: 0 }]),
  });
  await Promise.all(Array.from({ length: 5 }, () => replica.status()));
  expect(most).toBe(1);
});

test.each([
  ["another system", { read_system_id: system("another") }, /system another/],
  [
    "another database",
    { read_server_place: () => [{ is_standby: true, database_id: "6", started: "2" }] },
    /another database/,
  ],
])("%s is refused by open()", async (_, answers, words) => {
  const { replica } = world({ ...healthy, ...answers });
  await expect(replica.open()).rejects.toThrow(words);
});

test("a replica that hangs holds neither status() nor reads for longer than a check may take", async () => {
  const answers = { ...healthy };
  const { replica, told, who, runOut } = world(answers);
  await replica.open();
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  answers.read_server_place = () => held.then(place(true, "2"));
  const status = replica.status();
  await new Promise((resolve) => setImmediate(resolve));
  runOut();
  expect(await status).toMatchObject({ isUsed: false, reason: expect.stringContaining("no answer") });
  expect(await who()).toBe("primary");
  answer();
  expect(await replica.status()).toMatchObject({ isUsed: true });
  expect(await who()).toBe("replica");
  expect(told).toEqual([]);
});

test("a closed replica asks nothing more", async () => {
  const { replica, asked, who } = world(healthy);
  await replica.open();
  const before = asked.length;
  await replica.close();
  expect(await who()).toBe("primary");
  expect(asked).toHaveLength(before);
});
