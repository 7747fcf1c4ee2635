import { expect, test } from "vitest";
import { problemsOf, type QueueState } from "../../cli/queue-state.js";

/** Of a queue that is late, status advised to list pending jobs, newest first: the oldest due one is on the last page. */

test("status of a queue that is behind leads to doctor and to the oldest due jobs", () => {
  const now = new Date("2026-01-15T10:00:00Z");
  const late: Partial<QueueState> = {
    ...{ name: "inbox", due: 3, workers: 2, expired: 0, deadLetter: 0, pausedAt: null, failing: [] },
    oldestDueAt: new Date("2026-01-15T09:50:00Z"),
  };
  expect(problemsOf(late as QueueState, now)).toEqual([
    {
      queue: "inbox",
      code: "behind",
      severity: "bad",
      message: "the oldest due job has waited for 10 min",
      advice: "leasehold doctor; leasehold runbook oldest-due --queue inbox",
    },
  ]);
});
