import { describe, expect, test } from "vitest";
import type { RowState } from "../../../simulation/entries.js";
import { type HistoryBuilder, objections } from "./history-builder.js";

describe("good histories", () => {
  test("two jobs of a key, one after another", () => {
    expect(objections((h) => h.enqueue("1").enqueue("2").work("1", "a#1", 1n).work("2", "a#1", 2n))).toEqual(
      [],
    );
  });

  test("a run: both claimed at once under one token, started one after another", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .enqueue("2")
        .claim("1", "a#1", 5n)
        .claim("2", "a#1", 5n)
        .start("1", "a#1", 5n)
        .end("1", "a#1", 5n)
        .complete("1", "a#1")
        .start("2", "a#1", 5n)
        .end("2", "a#1", 5n)
        .complete("2", "a#1");
    expect(objections(build)).toEqual([]);
  });

  test("a frozen worker is taken over after its lease, and its handler goes on for nothing", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .owns("b#1", 0, 1)
        .claim("1", "a#1", 1n)
        .start("1", "a#1", 1n)
        .fault("a#1", "hit")
        .tick(500)
        .giveBack("1", "b#1")
        .claim("1", "b#1", 2n)
        .start("1", "b#1", 2n)
        .fault("a#1", "ok")
        .end("1", "b#1", 2n)
        .effect("1", 2n)
        .complete("1", "b#1")
        .end("1", "a#1", 1n);
    expect(objections(build)).toEqual([]);
  });

  test("a dead letter lets its key go on, or holds it", () => {
    const dies = (isFinished: boolean) => (h: HistoryBuilder) =>
      h
        .enqueue("1")
        .enqueue("2")
        .claim("1", "a#1", 1n)
        .start("1", "a#1", 1n)
        .end("1", "a#1", 1n)
        .move("1", "a#1", { status: "dead_letter", isFinished, worker: null, leaseExpiresAtMs: null });
    expect(objections((h) => dies(true)(h).work("2", "a#1", 2n))).toEqual([]);
    expect(objections(dies(false), { onDeadLetter: "park" })).toEqual([]);
  });

  test("an unanswered enqueue may be there or not", () => {
    expect(
      objections((h) =>
        h.add({ is: "sent", atMs: 1, id: "lost", key: "k" }).insert("there").work("there", "a#1", 1n),
      ),
    ).toEqual([]);
  });

  test("in a queue without order, rows of one key run side by side", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .enqueue("2")
        .claim("2", "a#1", 1n)
        .start("2", "a#1", 1n)
        .claim("1", "a#1", 2n)
        .start("1", "a#1", 2n)
        .complete("2", "a#1")
        .complete("1", "a#1");
    expect(objections(build, { order: "none" })).toEqual([]);
  });
});

describe("broken histories", () => {
  test("a job that was acknowledged is not there", () => {
    expect(objections((h) => h.add({ is: "acknowledged", atMs: 1, id: "gone", key: "k" }))).toEqual([
      "nothing lost",
    ]);
  });

  test("a job leaves the queue and is not in the archive", () => {
    const build = (h: HistoryBuilder): unknown =>
      h.enqueue("1").claim("1", "a#1", 1n).ran("1", "a#1", 1n).move("1", "a#1", null);
    expect(objections(build)).toEqual(["archive complete", "nothing lost"]);
    expect(objections(build, { keepsArchive: false })).toEqual([]);
  });

  test("the archive has a job twice, one that never left, or one under another token", () => {
    const twice = { is: "archived", atMs: 9, id: "1", status: "completed", token: 1n, attempts: 1 } as const;
    expect(objections((h) => h.enqueue("1").work("1", "a#1", 1n).add(twice))).toEqual(["archive complete"]);
    expect(
      objections((h) =>
        h
          .enqueue("1")
          .work("1", "a#1", 1n)
          .add({ ...twice, id: "2" }),
      ),
    ).toEqual(["archive complete"]);
    expect(
      objections((h) =>
        h.enqueue("1").claim("1", "a#1", 2n).ran("1", "a#1", 2n).move("1", "a#1", null).add(twice),
      ),
    ).toEqual(["archive complete"]);
    expect(objections((h) => h.enqueue("1").work("1", "a#1", 1n), { keepsArchive: false })).toEqual([
      "archive complete",
    ]);
  });

  test("a row takes a way that is none", () => {
    expect(
      objections((h) => h.enqueue("1").move("1", "a#1", { status: "dead_letter", isFinished: true })),
    ).toEqual(["legal moves"]);
    expect(
      objections((h) =>
        h.enqueue("1").claim("1", "a#1", 1n).move("1", "a#1", { token: 2n }).complete("1", "a#1"),
      ),
    ).toContain("legal moves");
    expect(
      objections((h) =>
        h.enqueue("1", "k", { token: 7n }).claim("1", "a#1", 7n).ran("1", "a#1", 7n).complete("1", "a#1"),
      ),
    ).toContain("legal moves");
    expect(
      objections((h) =>
        h
          .enqueue("1")
          .claim("1", "a#1", 1n)
          .move("1", "a#1", { attempts: 3, maxAttempts: 5 })
          .move("1", "a#1", { attempts: 1 })
          .ran("1", "a#1", 1n)
          .complete("1", "a#1"),
      ),
    ).toEqual(["legal moves"]);
  });

  test("a row is claimed while somebody holds it", () => {
    const build = (h: HistoryBuilder): unknown =>
      h.enqueue("1").claim("1", "a#1", 1n).claim("1", "b#1", 2n).complete("1", "b#1");
    expect(objections(build)).toContain("one holder");
  });

  test("a lease is taken that has not run out, or from a worker that was well all the time", () => {
    const early = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .claim("1", "a#1", 1n, 1_000)
        .fault("a#1", "hit")
        .giveBack("1", "b#1")
        .work("1", "b#1", 2n);
    expect(objections(early)).toEqual(["one holder"]);
    const unprovoked = (h: HistoryBuilder): unknown =>
      h.enqueue("1").claim("1", "a#1", 1n).tick(500).giveBack("1", "b#1").work("1", "b#1", 2n);
    expect(objections(unprovoked)).toEqual(["one holder"]);
    const marked = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .claim("1", "a#1", 1n, 1_000)
        .fault("a#1", "hit")
        .marked("a", "dead")
        .giveBack("1", "b#1")
        .work("1", "b#1", 2n);
    expect(objections(marked)).toEqual([]);
  });

  test("a late settle completes the row of a successor", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .claim("1", "a#1", 1n)
        .fault("a#1", "hit")
        .tick(500)
        .giveBack("1", "b#1")
        .claim("1", "b#1", 2n)
        .start("1", "b#1", 2n)
        .complete("1", "a#1");
    expect(objections(build)).toEqual(["one holder"]);
  });

  test("a later row starts before an earlier one is done", () => {
    const build = (h: HistoryBuilder): unknown =>
      h.enqueue("1").enqueue("2").work("2", "a#1", 1n).work("1", "a#1", 2n);
    expect(objections(build)).toEqual(["order per key"]);
  });

  test("the second row of a run starts while the first waits for its next attempt", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .enqueue("2")
        .claim("1", "a#1", 1n)
        .claim("2", "a#1", 1n)
        .start("1", "a#1", 1n)
        .end("1", "a#1", 1n)
        .giveBack("1", "a#1")
        .start("2", "a#1", 1n)
        .end("2", "a#1", 1n)
        .complete("2", "a#1")
        .work("1", "a#1", 2n);
    expect(objections(build)).toEqual(["order per key"]);
  });

  test("an enqueue that was waited for stands behind the next", () => {
    const build = (h: HistoryBuilder): unknown => {
      h.insert("2");
      h.enqueue("1");
      h.add({ is: "sent", atMs: h.tick().atMs, id: "2", key: "k" });
      h.add({ is: "acknowledged", atMs: h.tick().atMs, id: "2", key: "k" });
      return h.work("2", "a#1", 1n).work("1", "a#1", 2n);
    };
    expect(objections(build)).toEqual(["order of enqueues"]);
  });

  test("two handlers of a key at a time", () => {
    const build = (h: HistoryBuilder): unknown =>
      h
        .enqueue("1")
        .enqueue("2")
        .claim("1", "a#1", 1n)
        .claim("2", "a#1", 1n)
        .start("1", "a#1", 1n)
        .start("2", "a#1", 1n)
        .end("1", "a#1", 1n)
        .complete("1", "a#1")
        .end("2", "a#1", 1n)
        .complete("2", "a#1");
    expect(objections(build)).toEqual(["no overlap", "order per key"]);
  });

  test("a key's next token is not higher", () => {
    const build = (h: HistoryBuilder): unknown =>
      h.enqueue("1").enqueue("2").work("1", "a#1", 5n).work("2", "b#1", 4n);
    expect(objections(build)).toEqual(["rising tokens"]);
  });

  test("more attempts than allowed, a start without a claim, a start twice", () => {
    expect(
      objections((h) =>
        h
          .enqueue("1", "k", { maxAttempts: 1 })
          .claim("1", "a#1", 1n)
          .giveBack("1", "a#1")
          .work("1", "a#1", 2n),
      ),
    ).toEqual(["bounded attempts"]);
    expect(
      objections((h) =>
        h
          .enqueue("1", "k", { maxAttempts: 1 })
          .claim("1", "a#1", 1n)
          .move("1", "a#1", { status: "pending", worker: null, leaseExpiresAtMs: null, crashes: 1 })
          .work("1", "a#1", 2n),
      ),
    ).toEqual([]);
    expect(
      objections((h) => h.enqueue("1").start("1", "a#1", 9n).end("1", "a#1", 9n).work("1", "a#1", 1n)),
    ).toEqual(["bounded attempts"]);
    expect(
      objections((h) =>
        h
          .enqueue("1")
          .claim("1", "a#1", 1n)
          .start("1", "a#1", 1n)
          .end("1", "a#1", 1n)
          .start("1", "a#1", 1n)
          .end("1", "a#1", 1n)
          .complete("1", "a#1"),
      ),
    ).toEqual(["bounded attempts"]);
  });

  test("a completion of what never started", () => {
    expect(objections((h) => h.enqueue("1").claim("1", "a#1", 1n).complete("1", "a#1"))).toEqual([
      "bounded attempts",
    ]);
  });

  test("somebody else takes back an attempt that was started, or lets a row die early", () => {
    const lost = (change: Partial<RowState>) => (h: HistoryBuilder) =>
      h
        .enqueue("1")
        .claim("1", "a#1", 1n)
        .start("1", "a#1", 1n)
        .fault("a#1", "gone", "killed")
        .tick(500)
        .move("1", "b#1", { status: "pending", worker: null, leaseExpiresAtMs: null, token: 0n, ...change });
    expect(objections((h) => lost({})(h).work("1", "b#1", 2n))).toEqual([]);
    expect(objections((h) => lost({ attempts: 0 })(h).work("1", "b#1", 2n))).toEqual(["bounded attempts"]);
    expect(objections(lost({ status: "dead_letter", isFinished: true, crashes: 1 }))).toEqual([
      "bounded attempts",
    ]);
    const twice = (change: Partial<RowState>) => (h: HistoryBuilder) =>
      lost({ crashes: 1 })(h)
        .claim("1", "b#1", 2n)
        .start("1", "b#1", 2n)
        .fault("b#1", "gone", "killed")
        .tick(500)
        .move("1", "c#1", {
          status: "pending",
          worker: null,
          leaseExpiresAtMs: null,
          token: 0n,
          crashes: 2,
          ...change,
        });
    expect(objections(twice({ status: "dead_letter", isFinished: true }))).toEqual([]);
    expect(objections((h) => twice({})(h).work("1", "c#1", 3n))).toEqual(["bounded attempts"]);
  });

  test("a claim before its time", () => {
    expect(objections((h) => h.enqueue("1", "k", { availableAtMs: 1_000 }).work("1", "a#1", 1n))).toEqual([
      "in time",
    ]);
  });

  test("two jobs of one idempotency key, and an answer with a job that never was", () => {
    const twice = (h: HistoryBuilder): unknown =>
      h.insert("1", "k", {}, "once").insert("2", "k", {}, "once").work("1", "a#1", 1n).work("2", "a#1", 2n);
    expect(objections(twice)).toEqual(["one per idempotency key"]);
    expect(objections((h) => h.add({ is: "duplicate", atMs: 1, id: "never", key: "k" }))).toEqual([
      "one per idempotency key",
    ]);
  });

  test("an effect twice, without a completion, or behind its fence", () => {
    expect(objections((h) => h.enqueue("1").effect("1", 1n).effect("1", 1n).work("1", "a#1", 1n))).toEqual([
      "effects once",
    ]);
    expect(
      objections((h) =>
        h.enqueue("1").claim("1", "a#1", 1n).effect("1", 1n).giveBack("1", "a#1").work("1", "a#1", 2n),
      ),
    ).toEqual(["effects once"]);
    expect(
      objections((h) =>
        h.enqueue("1").effect("1", 2n, "fenced").effect("1", 1n, "fenced").work("1", "a#1", 3n),
      ),
    ).toEqual(["effects once"]);
  });

  test("a bucket that nobody owns while somebody could", () => {
    const build = (h: HistoryBuilder): unknown =>
      h.owns("a#1", 0).owns("b#1", 1).fault("b#1", "gone", "killed").tick(1_500).owns("a#1", 0, 1);
    expect(objections(build)).toEqual(["owned buckets"]);
    const inTime = (h: HistoryBuilder): unknown =>
      h.owns("a#1", 0).owns("b#1", 1).fault("b#1", "gone", "killed").tick(900).owns("a#1", 0, 1).tick(5_000);
    expect(objections(inTime)).toEqual([]);
    const nobody = (h: HistoryBuilder): unknown =>
      h
        .owns("a#1", 0)
        .owns("b#1", 1)
        .fault("b#1", "gone", "killed")
        .fault("a#1", "hit")
        .tick(1_500)
        .fault("a#1", "ok")
        .owns("a#1", 0, 1);
    expect(objections(nobody)).toEqual([]);
  });

  test("work that is left at the end", () => {
    expect(objections((h) => h.enqueue("1"))).toEqual(["all done"]);
    expect(objections((h) => h.enqueue("1").claim("1", "a#1", 1n))).toEqual(["all done"]);
    expect(objections((h) => h.enqueue("1"), { onDeadLetter: "park" })).toEqual(["all done"]);
  });
});
