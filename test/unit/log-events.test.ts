import { expect, test } from "vitest";
import { createEvents } from "../../src/events.js";
import { type Logger, logEvents } from "../../src/log-events.js";

function collecting(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const note = (level: string) => (_fields: object, message: string) => {
    lines.push(`${level} ${message}`);
  };
  return {
    lines,
    logger: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") },
  };
}

const failed = { queue: "inbox", id: "01a1", kind: "k", attempt: 1, error: "Error: no" };

test("a log of warnings does not listen to what happens to every job", () => {
  const events = createEvents();
  const { lines, logger } = collecting();
  logEvents(events, logger, "warn");
  for (const name of ["jobs:enqueued", "jobs:claimed", "job:started", "job:settled"] as const)
    expect(events.isHeard(name), name).toBe(false);
  events.emit("job:failed", { ...failed, outcome: "retry" });
  events.emit("job:failed", { ...failed, outcome: "dead_letter" });
  events.emit("workers:lost", { watcherId: "a", workerIds: ["b"] });
  expect(lines).toEqual([
    "warn k 01a1 failed in attempt 1 (retry): Error: no",
    "warn lost: b; their keys move",
  ]);
});

test("a logger of the user's gets every level", () => {
  const events = createEvents();
  const { lines, logger } = collecting();
  logEvents(events, logger);
  events.emit("job:failed", { ...failed, outcome: "dead_letter" });
  events.emit("jobs:enqueued", { queue: "inbox", count: 1, duplicates: 0 });
  expect(lines).toEqual([
    "debug k 01a1 failed in attempt 1 (dead_letter): Error: no",
    "debug enqueued 1 into inbox",
  ]);
});

test("a loop that goes on failing is a line at the first failure, the tenth and the hundredth", () => {
  const events = createEvents();
  const { lines, logger } = collecting();
  logEvents(events, logger, "warn");
  for (let failures = 1; failures <= 500; failures++)
    events.emit("activity:failed", { activity: "claim", failures, error: new Error("no") });
  expect(lines).toHaveLength(3);
});
