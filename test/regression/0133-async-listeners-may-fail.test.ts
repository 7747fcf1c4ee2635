import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createEvents, type EventName } from "../../src/events.js";
import { type Logger, logEvents } from "../../src/log-events.js";

/** A listener or a logger that is an async function and rejects ended the process. */

function unhandled(): unknown[] {
  const found: unknown[] = [];
  const note = (reason: unknown): void => void found.push(reason);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note);
    for (const listener of others) process.on("unhandledRejection", listener);
  });
  return found;
}

/** Rejections that nobody handles are reported after all that is ready has run. */
async function untilReported(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn();
}

const event = { watcherId: "a", workerIds: ["b"] };

test("a listener whose promise rejects is reported as one that throws", async () => {
  const found = unhandled();
  const told: [EventName, unknown][] = [];
  const events = createEvents((name, reason) => void told.push([name, reason]));
  const error = new Error("metrics are down");
  events.on("workers:lost", (async () => {
    await turn();
    throw error;
  }) as () => void);
  events.on("workers:lost", () => {
    throw error;
  });
  events.emit("workers:lost", event);
  await untilReported();
  await untilReported();
  expect(told).toEqual([
    ["workers:lost", error],
    ["workers:lost", error],
  ]);
  expect(found).toEqual([]);
});

test("a logger whose methods reject, and a broken thenable, end nothing", async () => {
  const found = unhandled();
  let lines = 0;
  const line = async (): Promise<void> => {
    lines++;
    await turn();
    throw new Error("the log is full");
  };
  const logger: Logger = { debug: line, info: line, warn: line, error: line };
  const events = createEvents(() => logger.error({}, "an event listener threw"));
  logEvents(events, logger);
  events.on("workers:lost", (() => ({
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested.
    then: () => {
      throw new Error("no promise");
    },
  })) as () => void);
  events.emit("workers:lost", event);
  await untilReported();
  await untilReported();
  expect(lines).toBe(3);
  expect(found).toEqual([]);
});
