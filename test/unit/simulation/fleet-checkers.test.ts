import { expect, test } from "vitest";
import { type HistoryBuilder, objections } from "./history-builder.js";

test("a takeover from a worker that is back again, unless both may have happened at the same time", () => {
  const back = (h: HistoryBuilder): unknown => {
    const told = (status: "dead" | "alive", generation: bigint) =>
      h.add({ is: "registered", atMs: h.tick().atMs, worker: "a", status, generation });
    h.enqueue("1").owns("b#1", 0, 1).claim("1", "a#1", 1n).fault("a#1", "hit");
    told("dead", 1n);
    told("alive", 2n);
    return h.giveBack("1", "b#1").fault("a#1", "ok").work("1", "b#1", 2n);
  };
  expect(objections(back)).toEqual(["one holder"]);
  expect(objections(back, { raceMs: 1_000 })).toEqual([]);
});

test("a claim from a paused queue", () => {
  const paused = (isPaused: boolean) => (h: HistoryBuilder) =>
    h
      .enqueue("1")
      .add({ is: "paused", atMs: h.tick().atMs, isPaused: true })
      .add({ is: "paused", atMs: h.tick().atMs, isPaused })
      .work("1", "a#1", 1n);
  expect(objections(paused(true))).toEqual(["pause kept"]);
  expect(objections(paused(false))).toEqual([]);
});

test("a row that nobody takes though all are well and idle, and one that somebody takes in time", () => {
  const taken = (afterMs: number, isWell: boolean) => (h: HistoryBuilder) =>
    h
      .enqueue("1")
      .fault("a#1", "hit")
      .fault("a#1", isWell ? "ok" : "hit")
      .tick(afterMs)
      .work("1", "a#1", 1n);
  expect(objections(taken(1_500, true))).toEqual(["nobody forgotten"]);
  const late = (h: HistoryBuilder): unknown =>
    h.enqueue("1", "k", { status: "scheduled", availableAtMs: 100 }).tick(1_500).work("1", "a#1", 1n);
  expect(objections(late)).toContain("nobody forgotten");
  expect(objections(taken(500, true))).toEqual([]);
  const waits = objections(taken(1_500, false));
  expect(waits).not.toContain("nobody forgotten");
});

test("a worker that asks again and again, and one that polls", () => {
  const looks =
    (everyMs: number) =>
    (h: HistoryBuilder): void => {
      for (let n = 0; n < 150; n++)
        h.add({ is: "looked in vain", atMs: h.tick(everyMs).atMs, process: "a#1" });
    };
  expect(objections(looks(3))).toEqual(["few vain looks"]);
  expect(objections(looks(25))).toEqual([]);
});
