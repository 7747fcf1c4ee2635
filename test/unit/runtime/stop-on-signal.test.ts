import { expect, test } from "vitest";
import { StopOnSignal } from "../../../src/runtime/stop-on-signal.js";
import type { ProcessSignals } from "../../../src/seams/process-signals.js";

/** Signals that a test sends, and the codes with which the process would have ended. */
function fakeSignals(): ProcessSignals & {
  send(): void;
  readonly codes: number[];
  readonly listeners: Set<unknown>;
} {
  const listeners = new Set<(signal: string) => void>();
  const codes: number[] = [];
  return {
    codes,
    listeners,
    onStop(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exit: (code) => void codes.push(code),
    send: () => {
      for (const listener of listeners) listener("SIGTERM");
    },
  };
}

const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

test("the process ends when all that heed its signals have stopped, not with the first", async () => {
  const signals = fakeSignals();
  let finishSlow: () => void = () => {};
  StopOnSignal.of(signals).heed(async () => {});
  StopOnSignal.of(signals).heed(() => new Promise((resolve) => (finishSlow = resolve)));
  signals.send();
  await settled();
  expect(signals.codes).toEqual([]);
  finishSlow();
  await settled();
  expect(signals.codes).toEqual([0]);
});

test("a second signal ends it at once", async () => {
  const signals = fakeSignals();
  StopOnSignal.of(signals).heed(() => new Promise(() => {}));
  signals.send();
  signals.send();
  expect(signals.codes).toEqual([1]);
});

test("one that can't be stopped in good order ends it with another code", async () => {
  const signals = fakeSignals();
  StopOnSignal.of(signals).heed(() => Promise.reject(new Error("no")));
  signals.send();
  await settled();
  expect(signals.codes).toEqual([1]);
});

test("signals are left alone again when nobody heeds them", () => {
  const signals = fakeSignals();
  const first = StopOnSignal.of(signals).heed(async () => {});
  const second = StopOnSignal.of(signals).heed(async () => {});
  first();
  expect(signals.listeners.size).toBe(1);
  second();
  expect(signals.listeners.size).toBe(0);
});
