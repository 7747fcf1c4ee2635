import { describe, expect, test } from "vitest";
import { findChannels } from "../../src/database/statements.generated.js";
import { surroundingsOf } from "../../src/leasehold.js";
import { processesOf, ttlMs, wantedOf } from "../support/tenant-holders.js";
import { setup, type World } from "../support/world.js";
import { until } from "../worker/worker-world.js";

/** What is told on the channel of everybody and on those of these workers, by name. */
async function overheard(world: World, ids: readonly string[]) {
  const { database, bind } = surroundingsOf(world.lh);
  const client = await world.client();
  const names = new Map<string, string>();
  for (const id of ids) {
    const [row] = await database.run(bind(findChannels, { id }));
    names.set(row!.own, id);
    names.set(row!.ring, "all");
  }
  const told: string[] = [];
  client.on("notification", ({ channel, payload }) => told.push(`${names.get(channel)} ${payload}`));
  for (const channel of names.keys()) await client.query(`listen "${channel}"`);
  /** What was told so far, and from now on. */
  const take = async (): Promise<string[]> => {
    await client.query("select pg_notify($1, 'end')", [[...names.keys()][0]]);
    await until("the end is heard", () => told.some((text) => text.endsWith(" end")));
    return told.splice(0).filter((text) => !text.endsWith(" end"));
  };
  return { take };
}

async function fleet(...ids: string[]) {
  const world = await setup();
  const { started, time, process } = processesOf(world);
  const [a, b] = [await started("a"), await started("b")];
  for (const id of ids) await started(id);
  const token = (await a.win("x"))!;
  return { world, time, process, a, b, token };
}

describe("what is freed", () => {
  test("wakes the heir that was named, and nobody else", async () => {
    const { world, a, token } = await fleet("c");
    const { take } = await overheard(world, ["a", "b", "c"]);
    await a.ownership.drain([{ tenant: "x", token, heir: "b" }], 1_000);
    expect(await take()).toEqual([]);
    await a.ownership.free([{ tenant: "x", token }]);
    expect(await take()).toEqual(["b tenants:tenants:"]);
  });

  test("wakes each of several heirs once, and everybody where none was named", async () => {
    const { world, a } = await fleet("c");
    const { take } = await overheard(world, ["a", "b", "c"]);
    const tokens = await a.ownership.win(["t1", "t2", "t3", "t4"].map((tenant) => wantedOf(tenant)));
    const held = [...tokens].map(([tenant, token]) => ({ tenant, token }));
    const heirs = ["b", "b", "c", null];
    await a.ownership.drain(
      held.map((one, i) => ({ ...one, heir: heirs[i]! })),
      1_000,
    );
    await a.ownership.free(held);
    expect((await take()).sort()).toEqual([
      "all tenants:tenants",
      "b tenants:tenants:",
      "c tenants:tenants:",
    ]);
  });

  test("is free, keeps its token and remembers its heir until it is won", async () => {
    const { a, b, token } = await fleet();
    await a.ownership.drain([{ tenant: "x", token, heir: "b" }], 1_000);
    expect(await b.lease("x")).toMatchObject({ owner: "a", state: "draining", heir: "b", isMine: false });
    expect(await a.lease("x")).toMatchObject({ isMine: true });
    await a.ownership.free([{ tenant: "x", token }]);
    const free = {
      owner: null,
      state: "free",
      heir: "b",
      token: String(token),
      isLost: false,
      isMine: false,
    };
    expect(await b.lease("x")).toMatchObject(free);
    await b.win("x", token);
    expect(await b.lease("x")).toMatchObject({ owner: "b", state: "running", heir: null });
  });

  test("is told of to nobody when it was not the caller's any more", async () => {
    const { world, a, b, token } = await fleet();
    const { take } = await overheard(world, ["a", "b"]);
    await b.ownership.free([{ tenant: "x", token }]);
    await a.ownership.free([{ tenant: "x", token: token + 1n }]);
    await a.ownership.free([{ tenant: "no such", token }]);
    expect(await take()).toEqual([]);
    expect(await a.lease("x")).toMatchObject({ isMine: true, state: "running" });
  });
});

describe("what is dropped", () => {
  test("is gone, whether it was the caller's own, free, or of an owner that is gone", async () => {
    const { world, time, a, b, token } = await fleet();
    await a.ownership.drop([{ tenant: "x", token }]);
    const free = (await a.win("free"))!;
    await a.ownership.free([{ tenant: "free", token: free }]);
    await b.ownership.drop([{ tenant: "free", token: free }]);
    const lost = (await a.win("lost"))!;
    time.advance(ttlMs);
    await b.ownership.drop([{ tenant: "lost", token: lost }]);
    expect(await world.sql("select tenant from leasehold.tenant_leases")).toEqual([]);
  });

  test("stays when somebody else has taken it, or lives", async () => {
    const { a, b, token } = await fleet();
    await b.ownership.drop([{ tenant: "x", token }]);
    expect(await a.lease("x")).toMatchObject({ isMine: true });
    await a.ownership.free([{ tenant: "x", token }]);
    const next = (await b.win("x", token))!;
    await a.ownership.drop([{ tenant: "x", token }]);
    await a.ownership.drop([{ tenant: "x", token: next }]);
    expect(await b.lease("x")).toMatchObject({ isMine: true, token: String(next) });
  });

  test("begins with a higher token when it is won again", async () => {
    const { a, b, token } = await fleet();
    await a.ownership.drop([{ tenant: "x", token }]);
    expect(await b.win("x")).toBeGreaterThan(token);
  });
});

test("only its owner, under its token, says that it is ending", async () => {
  const { a, b, token } = await fleet();
  await b.ownership.drain([{ tenant: "x", token, heir: "b" }], 1_000);
  await a.ownership.drain([{ tenant: "x", token: token - 1n, heir: "b" }], 1_000);
  expect(await a.lease("x")).toMatchObject({ state: "running", heir: null });
});

test("any name goes through every statement and comes back as it was", async () => {
  const { a, b } = await fleet();
  const names = [
    'it\'s "quoted" \\ back',
    "{a,b},NULL",
    "null",
    "ünïcode 日本 🦊",
    " spaced ",
    "new\nline\ttab",
    "$1 :name ?",
    "x".repeat(512),
    "é".repeat(256),
  ];
  const won = await a.ownership.win(names.map((tenant) => ({ ...wantedOf(tenant), region: "eu'\"{}" })));
  expect([...won.keys()].sort()).toEqual([...names].sort());
  const listed = await a.ownership.list(names);
  expect(listed.map(({ tenant }) => tenant).sort()).toEqual([...names].sort());
  expect(new Set(listed.map(({ region }) => region))).toEqual(new Set(["eu'\"{}"]));
  const held = names.map((tenant) => ({ tenant, token: won.get(tenant)! }));
  await a.ownership.drain(
    held.map((one) => ({ ...one, heir: "b" })),
    1_000,
  );
  await a.ownership.free(held);
  const next = await b.ownership.win(held.map(({ tenant, token }) => wantedOf(tenant, token)));
  expect(next.size).toBe(names.length);
  await b.ownership.markDone("run '1'", names[0]!);
  expect(await a.ownership.doneOf("run '1'", names)).toEqual(new Set([names[0]]));
  await b.ownership.drop([...next].map(([tenant, token]) => ({ tenant, token })));
  expect(await b.ownership.list(names)).toEqual([]);
});

test("supervisors of another name see and change nothing of each other", async () => {
  const { a, process, token } = await fleet();
  const other = process("a", "others");
  await other.register();
  expect(await other.ownership.list()).toEqual([]);
  const theirs = (await other.win("x"))!;
  expect(theirs).toBeGreaterThan(token);
  await other.ownership.drop([{ tenant: "x", token: theirs }]);
  expect(await other.ownership.list()).toEqual([]);
  expect(await a.ownership.list()).toHaveLength(1);
  await other.ownership.markDone("run", "x");
  expect((await a.ownership.doneOf("run", ["x"])).size).toBe(0);
});
