import { describe, expect, test } from "vitest";
import { type TenantHistoryBuilder, tenantObjections } from "./tenant-history.js";

const late = 5_000;

describe("good histories", () => {
  test("a tenant that moves in good order", () => {
    expect(
      tenantObjections((h) =>
        h.begin("a#1", 1n).act("a#1", 1n).stop("a#1", 1n, "ownership-change").begin("b#1", 2n).act("b#1", 2n),
      ),
    ).toEqual([]);
  });

  test("a start that throws and is called again", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).note("failed", "a#1", 1n).tick(late).begin("a#1", 1n).act("a#1", 1n);
    expect(tenantObjections(build)).toEqual([]);
  });

  test("a crash, and the other goes on", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).fault("a#1", "killed", "gone").tick(200).begin("b#1", 2n).tick(late).act("b#1", 2n);
    expect(tenantObjections(build)).toEqual([]);
  });

  test("a frozen owner is taken over after its TTL, and notices when it thaws", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h
        .begin("a#1", 1n)
        .fault("a#1", "frozen")
        .tick(1_500)
        .begin("b#1", 2n)
        .fault("a#1", "frozen", "ok")
        .stop("a#1", 1n, "evicted");
    expect(tenantObjections(build)).toEqual([]);
  });
});

describe("one owner", () => {
  const overlap = (h: TenantHistoryBuilder): unknown => h.begin("a#1", 1n).begin("b#1", 2n);

  test("two at a time", () => {
    expect(tenantObjections(overlap)).toEqual(["one owner"]);
  });

  test("to be evicted, or to drain, is no excuse", () => {
    for (const what of ["evicted", "draining"])
      expect(tenantObjections((h) => h.begin("a#1", 1n).fault("a#1", what).begin("b#1", 2n))).toEqual([
        "one owner",
      ]);
  });

  test("a run that saw its signal and has not ended still runs", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).note("aborted", "a#1", 1n).begin("b#1", 2n);
    expect(tenantObjections(build)).toEqual(["one owner"]);
  });

  test("a fault of the one that takes over, or one that is long past, is no excuse", () => {
    const byFaulty = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).fault("b#1", "slow").begin("b#1", 2n).fault("b#1", "slow", "ok");
    expect(tenantObjections(byFaulty)).toEqual(["one owner"]);
    const past = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).fault("a#1", "slow").fault("a#1", "slow", "ok").tick(1_100).begin("b#1", 2n);
    expect(tenantObjections(past)).toEqual(["one owner"]);
  });

  test("two runs on one process, whatever happened to it", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).fault("a#1", "frozen").fault("a#1", "frozen", "ok").begin("a#1", 2n);
    expect(tenantObjections(build)).toEqual(["one owner"]);
  });

  test("one that was excused once does not count any more", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h
        .begin("a#1", 1n)
        .fault("a#1", "slow")
        .begin("b#1", 2n)
        .fault("a#1", "slow", "ok")
        .tick(late)
        .stop("b#1", 2n)
        .begin("c#1", 3n);
    expect(tenantObjections(build)).toEqual([]);
  });

  test("one that is stuck, or whose process is gone, does not count", () => {
    const stuck = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).note("stopped", "a#1", 1n, { reason: "drain", isStuck: true }).begin("b#1", 2n);
    expect(tenantObjections(stuck)).toEqual([]);
    const gone = (h: TenantHistoryBuilder): unknown =>
      h.begin("a#1", 1n).fault("a#1", "killed", "gone").begin("b#1", 2n);
    expect(tenantObjections(gone)).toEqual([]);
  });
});

test("a token that is not higher than one before on another process", () => {
  for (const token of [1n, 2n])
    expect(tenantObjections((h) => h.begin("a#1", 2n).stop("a#1", 2n).begin("b#1", token))).toEqual([
      "rising tokens",
    ]);
});

describe("acts that must not be", () => {
  const frozen = (ms: number) => (h: TenantHistoryBuilder) =>
    h.begin("a#1", 1n).fault("a#1", "frozen").tick(ms).fault("a#1", "frozen", "ok").act("a#1", 1n);

  test("after a freeze that was longer than the TTL", () => {
    expect(tenantObjections(frozen(1_100))).toEqual(["no act after a freeze"]);
    expect(tenantObjections(frozen(900))).toEqual([]);
    const anew = (h: TenantHistoryBuilder): unknown =>
      h
        .begin("a#1", 1n)
        .fault("a#1", "frozen")
        .tick(1_100)
        .fault("a#1", "frozen", "ok")
        .stop("a#1", 1n)
        .begin("a#1", 2n)
        .act("a#1", 2n);
    expect(tenantObjections(anew)).toEqual([]);
  });

  test("after somebody else has started it, even when its process was cut off; only a session that broke unnoticed is an excuse", () => {
    const acts = (what: string) => (h: TenantHistoryBuilder) =>
      h.begin("a#1", 1n).fault("a#1", what).begin("b#1", 2n).act("a#1", 1n).fault("a#1", what, "ok");
    expect(tenantObjections(acts("cut off"))).toEqual(["no stale act"]);
    expect(tenantObjections(acts("session"))).toEqual(["no stale act"]);
    expect(tenantObjections(acts("session, unnoticed"))).toEqual([]);
  });
});

test("a session that breaks while its process is frozen is not noticed before it thaws, and a freeze alone is no excuse", () => {
  const thaws = (what: string) => (h: TenantHistoryBuilder) =>
    h
      .begin("a#1", 1n)
      .fault("a#1", "frozen")
      .fault(what === "server restarts" ? "*" : "a#1", what)
      .tick(500)
      .begin("b#1", 2n)
      .fault("a#1", "frozen", "ok")
      .act("a#1", 1n);
  expect(tenantObjections(thaws("cut off"))).toEqual(["no stale act"]);
  expect(tenantObjections(thaws("session"))).toEqual([]);
  expect(tenantObjections(thaws("server restarts"))).toEqual([]);
});

describe("owned again", () => {
  test("nobody starts it at all", () => {
    expect(tenantObjections((h) => h.tick(400).fault("a#1", "evicted"))).toEqual(["owned again"]);
    expect(tenantObjections((h) => h.tick(200).fault("a#1", "evicted"))).toEqual([]);
  });

  test("nobody goes on after a crash or a drain", () => {
    const crash = (ms: number) => (h: TenantHistoryBuilder) =>
      h.begin("a#1", 1n).fault("a#1", "killed", "gone").tick(ms).begin("b#1", 2n);
    expect(tenantObjections(crash(400))).toEqual(["owned again"]);
    expect(tenantObjections(crash(200))).toEqual([]);
    const drain = (ms: number) => (h: TenantHistoryBuilder) =>
      h.begin("a#1", 1n).fault("a#1", "draining").stop("a#1", 1n).tick(ms).begin("b#1", 2n);
    expect(tenantObjections(drain(400))).toEqual(["owned again"]);
    expect(tenantObjections(drain(200))).toEqual([]);
  });

  test("faults take longer, and what still goes on is waited for", () => {
    const taken = (ms: number, state: "hit" | "ok") => (h: TenantHistoryBuilder) =>
      h
        .begin("a#1", 1n)
        .fault("b#1", "slow")
        .fault("b#1", "slow", state)
        .fault("a#1", "killed", "gone")
        .tick(ms)
        .begin("b#1", 2n);
    expect(tenantObjections(taken(1_500, "ok"))).toEqual([]);
    expect(tenantObjections(taken(2_500, "ok"))).toEqual(["owned again"]);
    expect(tenantObjections(taken(2_500, "hit"))).toEqual([]);
  });

  test("whoever is frozen does not run it, and does not hold it up for longer than its TTL", () => {
    const frozen = (ms: number) => (h: TenantHistoryBuilder) =>
      h.begin("a#1", 1n).fault("a#1", "frozen").tick(ms).begin("b#1", 2n);
    expect(tenantObjections(frozen(1_900))).toEqual([]);
    expect(tenantObjections(frozen(2_100))).toEqual(["owned again"]);
  });

  test("a worker that crashes over and over holds up nothing for longer than its TTL", () => {
    const flaps = (times: number) => (h: TenantHistoryBuilder) => {
      h.begin("b#1", 1n).fault("b", "flaps");
      for (let n = 1; n <= times; n++)
        h.fault(`b#${n}`, "killed", "gone")
          .tick(400)
          .join(`b#${n + 1}`);
      return h.begin("a#1", 2n);
    };
    expect(tenantObjections(flaps(4))).toEqual([]);
    expect(tenantObjections(flaps(6))).toEqual(["owned again"]);
  });

  test("what is stuck is waited for", () => {
    const stuck = (ms: number) => (h: TenantHistoryBuilder) =>
      h
        .begin("a#1", 1n)
        .note("stopped", "a#1", 1n, { reason: "drain", isStuck: true })
        .tick(late)
        .note("ended", "a#1", 1n)
        .tick(ms)
        .begin("b#1", 2n);
    expect(tenantObjections(stuck(200))).toEqual([]);
    expect(tenantObjections(stuck(400))).toEqual(["owned again"]);
  });

  test("with nobody there who could run it", () => {
    const build = (h: TenantHistoryBuilder): unknown =>
      h
        .begin("a#1", 1n)
        .fault("b#1", "killed", "gone")
        .fault("a#1", "killed", "gone")
        .tick(late)
        .join("a#2")
        .tick(100)
        .begin("a#2", 2n);
    expect(tenantObjections(build)).toEqual([]);
  });
});

test("a tenant that is moved while another worker crashes and comes back, and nothing else happens", () => {
  const flaps = (beforeMs: number, process: string) => (h: TenantHistoryBuilder) =>
    h
      .begin(process, 1n)
      .tick(beforeMs)
      .fault("b", "flaps")
      .fault("b#1", "killed", "gone")
      .join("b#2")
      .stop(process, 1n, "ownership-change")
      .begin("b#2", 2n)
      .fault("b", "flaps", "ok");
  expect(tenantObjections(flaps(2_000, "a#1"))).toEqual(["steady"]);
  expect(tenantObjections(flaps(500, "a#1"))).toEqual([]);
  expect(tenantObjections(flaps(2_000, "b#1"))).toEqual([]);
});
