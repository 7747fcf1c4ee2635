import { describe, expect, test } from "vitest";
import { TenantEndedError } from "../../../src/errors.js";
import { defaults } from "../../../src/settings.js";
import { type RunParts, TenantRun } from "../../../src/tenants/run.js";
import type { TenantContext } from "../../../src/tenants/tenant.js";
import { manualClock, settled } from "./manual-clock.js";

type Start = RunParts<string>["options"]["start"];
type Stop = NonNullable<RunParts<string>["options"]["stop"]>;

/** A run of tenant x under token 5, and what it said. */
function runOf(start: Start, stop: Stop = () => {}) {
  const clock = manualClock();
  const contexts: TenantContext[] = [];
  const stops: (string | undefined)[] = [];
  const failures: { error: unknown; attempt: number; againInMs: number }[] = [];
  const threw: unknown[] = [];
  const lease = { isSure: true };
  const run: TenantRun<string> = new TenantRun<string>(
    {
      clock,
      options: {
        start: (tenant, context) => {
          contexts.push(context);
          return start(tenant, context);
        },
        stop: (tenant, started) => {
          stops.push(started);
          return stop(tenant, started);
        },
      },
      isSure: () => lease.isSure,
      onUnsure: () => void run.end("evicted", 1_000, () => {}),
      onFailed: ({ attempt }, error, againInMs) => failures.push({ error, attempt, againInMs }),
      onThrew: (_, error) => threw.push(error),
    },
    "x",
    5n,
  );
  return { clock, run, contexts, stops, failures, threw, lease };
}

/** A promise that a test settles. */
function gate<T>() {
  let open: (value: T) => void = () => {};
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

const noLate = (): never => {
  throw new Error("it was not late");
};
const broken = new Error("out of order");

describe("a start that throws", () => {
  test("is called again after a wait that doubles up to its limit, with a higher attempt and the same token", async () => {
    const { run, clock, contexts, failures } = runOf(() => Promise.reject(broken));
    run.begin();
    await settled();
    const waits = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
    for (const [index, waitMs] of waits.entries()) {
      expect(failures[index]).toEqual({ error: broken, attempt: index + 1, againInMs: waitMs });
      await clock.advance(waitMs - 1);
      expect(contexts).toHaveLength(index + 1);
      await clock.advance(1);
    }
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(contexts.map(({ fenceToken }) => fenceToken))).toEqual(new Set([5n]));
    expect(waits.at(-1)).toBe(defaults.tenantRestartMsMax);
  });

  test("has its signal aborted, and gets a fresh one", async () => {
    const { run, clock, contexts } = runOf((_, { attempt }) =>
      attempt === 1 ? Promise.reject(broken) : "ok",
    );
    run.begin();
    await settled();
    expect(contexts[0]!.signal.reason).toMatchObject({
      code: "LH_TENANT_ENDED",
      tenant: "x",
      reason: "error",
    });
    await clock.advance(1_000);
    expect(contexts[0]!.signal.aborted).toBe(true);
    expect(contexts[1]!.signal.aborted).toBe(false);
    expect(run.attempt).toBe(2);
  });

  test("may throw anything, also nothing", async () => {
    const { run, failures } = runOf(() => Promise.reject());
    run.begin();
    await settled();
    expect(failures).toEqual([{ error: undefined, attempt: 1, againInMs: 1_000 }]);
  });

  test("may throw before it is a promise", async () => {
    const { run, failures } = runOf(() => {
      throw broken;
    });
    run.begin();
    await settled();
    expect(failures).toEqual([{ error: broken, attempt: 1, againInMs: 1_000 }]);
  });

  test("is not called again when the run ends while it waits; stop() is not called then", async () => {
    const { run, clock, contexts, stops } = runOf(() => Promise.reject(broken));
    run.begin();
    await settled();
    expect(await run.end("drain", 1_000, noLate)).toBe(true);
    await clock.advance(3_600_000);
    expect(contexts).toHaveLength(1);
    expect(stops).toEqual([]);
    expect(clock.sleeps).toEqual([]);
  });

  test("is not called again under a lease that is not sure any more, as after a freeze in the wait", async () => {
    const { run, clock, contexts, lease, stops } = runOf(() => Promise.reject(broken));
    run.begin();
    await settled();
    lease.isSure = false;
    await clock.advance(3_600_000);
    expect(contexts).toHaveLength(1);
    expect(run.isEnding).toBe(true);
    expect(stops).toEqual([]);
  });

  test("because its signal was aborted is no failure", async () => {
    const { run, failures, stops } = runOf(async (_, { signal }) => {
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return "never";
    });
    run.begin();
    expect(await run.end("drain", 1_000, noLate)).toBe(true);
    expect(failures).toEqual([]);
    expect(stops).toEqual([undefined]);
  });
});

describe("the end", () => {
  test("aborts at once with its reason, and calls stop() with what start() gave", async () => {
    const { run, contexts, stops, clock } = runOf(() => "a server");
    run.begin();
    await settled();
    expect(run.isEnding).toBe(false);
    const ended = run.end("ownership-change", 1_000, noLate);
    expect(run.isEnding).toBe(true);
    const { signal } = contexts[0]!;
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(TenantEndedError);
    expect(signal.reason).toMatchObject({ tenant: "x", reason: "ownership-change" });
    expect(await ended).toBe(true);
    expect(stops).toEqual(["a server"]);
    expect(clock.sleeps).toEqual([]);
  });

  test("calls stop() without a result when start() has not come back, and waits for both", async () => {
    const start = gate<string>();
    const { run, stops } = runOf(() => start.passed);
    run.begin();
    let isOver = false;
    const ended = run.end("drain", 1_000, noLate).then((isInTime) => {
      isOver = true;
      return isInTime;
    });
    await settled();
    expect(stops).toEqual([undefined]);
    expect(isOver).toBe(false);
    start.open("late");
    expect(await ended).toBe(true);
    expect(stops).toHaveLength(1);
  });

  test("waits for stop()", async () => {
    const stop = gate<void>();
    const { run } = runOf(
      () => "s",
      () => stop.passed,
    );
    run.begin();
    await settled();
    let isOver = false;
    const ended = run.end("idle", 1_000, noLate).finally(() => {
      isOver = true;
    });
    await settled();
    expect(isOver).toBe(false);
    stop.open();
    expect(await ended).toBe(true);
  });

  test("is stuck after its limit, and tells when it is over after all", async () => {
    const start = gate<string>();
    const { run, clock } = runOf(() => start.passed);
    run.begin();
    let late = 0;
    const ended = run.end("drain", 500, () => late++);
    await clock.advance(499);
    expect(clock.sleeps).toEqual([1]);
    await clock.advance(1);
    expect(await ended).toBe(false);
    expect(late).toBe(0);
    start.open("at last");
    await settled();
    expect(late).toBe(1);
  });

  test("with a stop() that throws, at once or later, counts as ended, and is told", async () => {
    for (const stop of [
      () => Promise.reject(broken),
      () => {
        throw broken;
      },
    ]) {
      const { run, threw } = runOf(() => "s", stop);
      run.begin();
      await settled();
      expect(await run.end("idle", 1_000, noLate)).toBe(true);
      expect(threw).toEqual([broken]);
    }
  });

  test("comes by a look at the signal when the lease is not sure any more", async () => {
    const { run, contexts, lease, stops } = runOf(() => "s");
    run.begin();
    await settled();
    lease.isSure = false;
    expect(run.isEnding).toBe(false);
    expect(contexts[0]!.signal.aborted).toBe(true);
    expect(contexts[0]!.signal.reason).toMatchObject({ reason: "evicted" });
    await settled();
    expect(stops).toEqual(["s"]);
  });
});

test("start() gets a context that can't be changed, when the run begins", () => {
  const { run, contexts } = runOf(() => "s");
  expect(contexts).toEqual([]);
  run.begin();
  expect(contexts).toHaveLength(1);
  expect(Object.isFrozen(contexts[0])).toBe(true);
  expect(contexts[0]).toMatchObject({ fenceToken: 5n, attempt: 1 });
});
