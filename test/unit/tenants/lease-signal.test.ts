import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { leaseSignal } from "../../../src/tenants/lease-signal.js";

/** A lease that is sure until the test says otherwise, and how often it was asked for and found wanting. */
function lease() {
  const controller = new AbortController();
  const reason = new Error("the lease is over");
  const state = { isSure: true, asked: 0, unsure: 0, controller, reason };
  const signal = leaseSignal(
    controller,
    () => {
      state.asked++;
      return state.isSure;
    },
    () => {
      state.unsure++;
      controller.abort(reason);
    },
  );
  return Object.assign(state, { signal });
}

describe("a look at aborted", () => {
  test("asks the lease each time, and aborts when it is not sure", () => {
    const given = lease();
    expect(given.signal.aborted).toBe(false);
    expect(given.signal.aborted).toBe(false);
    expect(given.asked).toBe(2);
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    expect(given.unsure).toBe(1);
    expect(given.signal.reason).toBe(given.reason);
  });

  test("does not take an abort back when the lease is sure again, and asks no more", () => {
    const given = lease();
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    given.isSure = true;
    expect(given.signal.aborted).toBe(true);
    expect(given.unsure).toBe(1);
    expect(given.asked).toBe(1);
  });

  test("says true after an abort by the controller, whatever the lease", () => {
    const given = lease();
    given.controller.abort("told to");
    expect(given.signal.aborted).toBe(true);
    expect(given.signal.reason).toBe("told to");
    expect(given.asked).toBe(0);
  });

  test("calls the listeners before it answers, once", () => {
    const given = lease();
    const heard: unknown[] = [];
    given.signal.addEventListener("abort", () => heard.push(given.signal.reason));
    given.signal.onabort = () => heard.push("onabort");
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    expect(given.signal.aborted).toBe(true);
    expect(heard).toEqual([given.reason, "onabort"]);
  });

  test("throws its reason through throwIfAborted", () => {
    const given = lease();
    expect(() => given.signal.throwIfAborted()).not.toThrow();
    given.isSure = false;
    expect(() => given.signal.throwIfAborted()).toThrow(given.reason);
  });
});

describe("what takes an AbortSignal takes it", () => {
  test("as one: it is the controller's own", () => {
    const { signal, controller } = lease();
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal).toBe(controller.signal);
  });

  test("AbortSignal.any follows it, when it is aborted already and when it is aborted later", () => {
    const given = lease();
    const any = AbortSignal.any([given.signal, new AbortController().signal]);
    expect(any.aborted).toBe(false);
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    expect(any.aborted).toBe(true);
    expect(any.reason).toBe(given.reason);
    expect(AbortSignal.any([given.signal]).aborted).toBe(true);
  });

  test("timers and events end with it", async () => {
    const given = lease();
    const timer = sleep(60_000, undefined, { signal: given.signal });
    const event = once(new EventEmitter(), "never", { signal: given.signal });
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    await expect(timer).rejects.toMatchObject({ name: "AbortError", cause: given.reason });
    await expect(event).rejects.toMatchObject({ name: "AbortError" });
  });

  test("fetch refuses to begin under a lease that is over", async () => {
    const given = lease();
    given.isSure = false;
    await expect(fetch("http://127.0.0.1:9/", { signal: given.signal })).rejects.toBe(given.reason);
  });

  test("a Request may carry it, and a listener with it is taken off", () => {
    const given = lease();
    const request = new Request("http://127.0.0.1:9/", { signal: given.signal });
    const target = new EventTarget();
    let heard = 0;
    target.addEventListener("tick", () => heard++, { signal: given.signal });
    target.dispatchEvent(new Event("tick"));
    given.isSure = false;
    expect(given.signal.aborted).toBe(true);
    target.dispatchEvent(new Event("tick"));
    expect(heard).toBe(1);
    expect(request.signal.aborted).toBe(true);
  });
});
