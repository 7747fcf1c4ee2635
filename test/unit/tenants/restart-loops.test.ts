import { expect, test } from "vitest";
import { createEvents, type EventMap } from "../../../src/events.js";
import { RestartLoops } from "../../../src/tenants/restart-loops.js";

const minuteMs = 60_000;

/** A worker whose every registration was a start. */
const started = (id: string, starts: bigint) => ({ id, starts, generation: starts });

function watched(): { loops: RestartLoops; heard: EventMap["worker:looping"][] } {
  const events = createEvents();
  const heard: EventMap["worker:looping"][] = [];
  events.on("worker:looping", (event) => heard.push(event));
  return { loops: new RestartLoops(events), heard };
}

test("a worker that starts four times within five minutes loops, and is told of once", () => {
  const { loops, heard } = watched();
  for (const generation of [5n, 6n, 7n, 8n])
    loops.note([started("a", generation)], Number(generation) * 1_000);
  expect(loops.current).toEqual([]);
  loops.note([started("a", 9n)], 9_000);
  expect(loops.current).toEqual(["a"]);
  loops.note([started("a", 9n)], 10_000);
  loops.note([started("a", 10n)], 11_000);
  expect(loops.current).toEqual(["a"]);
  expect(heard).toEqual([{ workerId: "a", generation: 9n, restarts: 4 }]);
});

test("restarts between two looks count too", () => {
  const { loops, heard } = watched();
  loops.note([started("a", 1n)], 0);
  loops.note([started("a", 5n)], 1_000);
  expect(heard).toEqual([{ workerId: "a", generation: 5n, restarts: 4 }]);
});

test("a worker that is seen for the first time that has been started often does not loop", () => {
  const { loops, heard } = watched();
  loops.note([started("a", 1_000n)], 0);
  loops.note([started("a", 1_000n)], 1_000);
  expect(heard).toEqual([]);
});

test("a process that registers again and again without a restart does not loop", () => {
  const { loops, heard } = watched();
  for (let generation = 1n; generation < 20n; generation++)
    loops.note([{ id: "a", starts: 1n, generation }], Number(generation) * 1_000);
  expect(heard).toEqual([]);
});

test("restarts that are minutes apart are no loop", () => {
  const { loops, heard } = watched();
  for (let restart = 0; restart < 20; restart++)
    loops.note([started("a", BigInt(restart))], restart * 2 * minuteMs);
  expect(heard).toEqual([]);
  expect(loops.current).toEqual([]);
});

test("a loop is over when the restarts are five minutes old, and a new one is told of again", () => {
  const { loops, heard } = watched();
  loops.note([started("a", 1n)], 0);
  loops.note([started("a", 5n)], 1_000);
  loops.note([started("a", 5n)], 6 * minuteMs);
  expect(loops.current).toEqual([]);
  loops.note([started("a", 9n)], 7 * minuteMs);
  expect(loops.current).toEqual(["a"]);
  expect(heard).toHaveLength(2);
});

test("workers do not concern each other, and one that is gone does not loop", () => {
  const { loops, heard } = watched();
  for (let look = 0n; look < 6n; look++) loops.note([started("a", look), started("b", 3n)], Number(look));
  expect(heard.map(({ workerId }) => workerId)).toEqual(["a"]);
  loops.note([started("b", 3n)], 10);
  expect(loops.current).toEqual([]);
});
