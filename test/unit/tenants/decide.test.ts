import { describe, expect, test } from "vitest";
import { type Decisions, decide, type TickView } from "../../../src/tenants/decide.js";
import type { TenantLease } from "../../../src/tenants/lease.js";
import type { TenantSource } from "../../../src/tenants/tenant.js";
import { member } from "./fleet.js";

/** One tenant x, seen by worker a, alone unless told otherwise. */
interface Given {
  readonly lease?: Partial<TenantLease>;
  readonly hot?: boolean | TenantSource;
  readonly isHotKnown?: boolean;
  readonly members?: readonly string[];
  /** Who the assignment must name: the others are new, so they get nothing. */
  readonly target?: string;
  readonly running?: bigint;
  readonly isBusy?: boolean;
  readonly isIdle?: boolean;
}

function lease(more: Partial<TenantLease> = {}): TenantLease {
  const owned = { tenant: "x", owner: "b", isMine: false, token: "7", state: "running" } as const;
  return { ...owned, heir: null, region: null, source: "listed", isLost: false, ...more };
}

function viewOf(given: Given): TickView {
  const { members = ["a", "b"], hot = true, target } = given;
  const source = typeof hot === "string" ? hot : "listed";
  return {
    workerId: "a",
    members: members.map((id) => member(id, { isSettled: target === undefined || id === target })),
    leases: given.lease === undefined ? [] : [lease(given.lease)],
    hot: new Map(hot === false ? [] : [["x", { region: null, source }]]),
    isHotKnown: given.isHotKnown ?? true,
    isIdle: () => given.isIdle ?? false,
    running: new Map(given.running === undefined ? [] : [["x", given.running]]),
    isBusy: () => given.isBusy ?? false,
  };
}

const nothing: Omit<Decisions, "targets" | "leases"> = {
  win: [],
  move: new Map(),
  stay: [],
  keep: [],
  cool: [],
  lost: [],
  release: [],
  passOn: [],
  tidy: [],
  waiting: 0,
};

function expectOnly(given: Given, expected: Partial<Decisions>): void {
  const { targets: _targets, leases: _leases, ...rest } = decide(viewOf(given));
  expect(rest).toEqual({ ...nothing, ...expected });
}

const mine = { owner: "a", isMine: true } as const;
const free = { owner: null, state: "free" } as const;
const wanted = { tenant: "x", seen: 7n, region: null, source: "listed" } as const;
const held = [{ tenant: "x", token: 7n }];

describe("what nobody runs", () => {
  test("and has no row is won with token 0 by its target, and only counted by the others", () => {
    expectOnly({ target: "a" }, { win: [{ ...wanted, seen: 0n }], waiting: 1 });
    expectOnly({ target: "b" }, { waiting: 1 });
  });

  test("and is free is won with the token seen, by the heir if that is a member", () => {
    expectOnly({ lease: free, target: "a" }, { win: [wanted], waiting: 1 });
    expectOnly({ lease: { ...free, heir: "a" }, target: "b" }, { win: [wanted], waiting: 1 });
    expectOnly({ lease: { ...free, heir: "b" }, target: "a" }, { waiting: 1 });
    expectOnly({ lease: { ...free, heir: "gone" }, target: "a" }, { win: [wanted], waiting: 1 });
  });

  test("because its owner is gone for good is won by its target", () => {
    const gone = { owner: "gone", isLost: true };
    expectOnly({ lease: gone, members: ["a"] }, { win: [wanted], waiting: 1 });
    expectOnly({ lease: gone, target: "a" }, { win: [wanted], waiting: 1 });
    expectOnly({ lease: gone, target: "b" }, { waiting: 1 });
  });

  test("because its owner was started again under its id is for that one to go on with", () => {
    expectOnly({ lease: { isLost: true }, target: "a" }, { waiting: 1 });
    expect(decide(viewOf({ lease: { isLost: true }, target: "a" })).targets.get("x")).toBe("b");
    expectOnly({ lease: { owner: "a", isLost: true }, target: "b" }, { win: [wanted], waiting: 1 });
  });

  test("stays promoted by hand, whatever else finds it hot; its region is what hot() says, if it is listed", () => {
    const promoted = { ...free, source: "promoted", region: "eu" } as const;
    expectOnly(
      { lease: promoted, hot: false, members: ["a"] },
      { win: [{ ...wanted, source: "promoted", region: "eu" }], waiting: 1 },
    );
    expectOnly(
      { lease: promoted, hot: "policy", members: ["a"] },
      { win: [{ ...wanted, source: "promoted", region: null }], waiting: 1 },
    );
  });

  test("and is being ended here, or did not end, is not won", () => {
    expectOnly({ lease: free, target: "a", isBusy: true }, { waiting: 1 });
    expectOnly({ lease: { ...mine, state: "draining" }, target: "a", isBusy: true }, { waiting: 1 });
  });
});

describe("what another process has", () => {
  test("and runs is left to it, whoever should have it", () => {
    expectOnly({ lease: {}, target: "a" }, {});
    expectOnly({ lease: {}, target: "b" }, {});
  });

  test("and is ending is waited for, also by the heir", () => {
    expectOnly({ lease: { state: "draining", heir: "a" }, target: "a" }, { waiting: 1 });
    expectOnly({ lease: { state: "draining", heir: "a" }, members: ["a"] }, { waiting: 1 });
  });

  test("that is no member any more but may still believe in it is waited for", () => {
    expectOnly({ lease: { owner: "evicted" }, members: ["a"] }, { waiting: 1 });
  });

  test("that is an earlier process of this id, and has stopped, is passed on if somebody else is to go on", () => {
    const view = viewOf({ lease: { owner: "a", isLost: true, region: "eu" }, members: [] });
    const members = [member("a"), member("b", { region: "eu" })];
    const { passOn, win } = decide({
      ...view,
      members,
      hot: new Map([["x", { region: "eu", source: "listed" }]]),
    });
    expect(win).toEqual([]);
    expect(passOn).toEqual([{ tenant: "x", seen: 7n, region: "eu", source: "listed", heir: "b" }]);
  });

  test("that is an earlier process of this id is waited for, and won when that has stopped", () => {
    expectOnly({ lease: { owner: "a" }, members: ["a"] }, { waiting: 1 });
    expectOnly({ lease: { owner: "a", isLost: true }, members: ["a"] }, { win: [wanted], waiting: 1 });
  });

  test("for a task is waited for, and is nobody's to stay when it becomes hot", () => {
    expectOnly({ lease: { source: "task" }, target: "a" }, { waiting: 1 });
    expectOnly({ lease: { source: "task" }, hot: false, target: "a" }, {});
    expect(decide(viewOf({ lease: { source: "task" }, target: "a" })).targets.get("x")).toBe("a");
    expectOnly({ lease: { ...free, source: "task" }, target: "a" }, { win: [wanted], waiting: 1 });
  });
});

describe("a lease of our own that nothing runs under", () => {
  test("is won again if it is for us, and released for others if not", () => {
    expectOnly({ lease: mine, members: ["a"] }, { win: [wanted], waiting: 1 });
    expectOnly({ lease: mine, target: "b" }, { release: held, waiting: 1 });
    expectOnly({ lease: { ...mine, state: "draining", heir: "b" } }, { release: held, waiting: 1 });
  });

  test("is left alone while this process is ending it or works for it", () => {
    expectOnly({ lease: mine, isBusy: true }, { waiting: 1 });
    expectOnly({ lease: { ...mine, state: "draining", heir: "b" }, isBusy: true }, { waiting: 1 });
    expectOnly({ lease: { ...mine, source: "task" }, hot: false, isBusy: true }, {});
  });

  test("is tidied up when it is cold, as after a task whose end was not heard", () => {
    expectOnly({ lease: { ...mine, source: "task" }, hot: false }, { tidy: held });
    expectOnly({ lease: mine, hot: false }, { tidy: held });
  });
});

describe("what runs here", () => {
  test("under our lease stays if it is for us", () => {
    expectOnly({ lease: mine, running: 7n, target: "a" }, { stay: ["x"] });
    expectOnly({ lease: mine, running: 7n, members: ["a"] }, { stay: ["x"] });
  });

  test("moves to somebody else when that one should have it", () => {
    const given: Given = { lease: mine, running: 7n, members: ["b"] };
    expectOnly(given, { move: new Map([["x", "b"]]) });
  });

  test("stays while nobody else could run it", () => {
    expectOnly({ lease: mine, running: 7n, members: [] }, { stay: ["x"] });
  });

  test("is lost without a row, under another token, or when the row is another's", () => {
    const others: Partial<TenantLease>[] = [
      { ...mine, token: "8" },
      { owner: "b", token: "8" },
      { owner: "a", isMine: false },
      { ...free },
      { owner: "b" },
    ];
    for (const other of others) expectOnly({ lease: other, running: 7n, target: "a" }, { lost: ["x"] });
    expectOnly({ running: 7n, target: "a" }, { lost: ["x"] });
  });

  test("and is not listed any more is cooled, as is what is idle by the policy", () => {
    expectOnly({ lease: mine, running: 7n, hot: false }, { cool: ["x"] });
    for (const source of ["promoted", "policy"] as const) {
      expectOnly({ lease: { ...mine, source }, running: 7n, hot: false, isIdle: true }, { cool: ["x"] });
      expectOnly({ lease: { ...mine, source }, running: 7n, hot: false, target: "a" }, { stay: ["x"] });
    }
    const promoted = { ...mine, source: "promoted" } as const;
    expectOnly({ lease: promoted, running: 7n, isIdle: true, target: "a" }, { stay: ["x"] });
  });

  test("and is hot for another reason, or was to move and may stay, is written down so", () => {
    const keep = [{ tenant: "x", token: 7n, region: null, source: "listed" }] as const;
    const policy = { ...mine, source: "policy" } as const;
    expectOnly({ lease: policy, running: 7n, isIdle: true, target: "a" }, { stay: ["x"], keep });
    const draining = { ...mine, state: "draining", heir: "a" } as const;
    expectOnly({ lease: draining, running: 7n, target: "a" }, { stay: ["x"], keep });
  });

  test("is not cold before it is known what is hot", () => {
    expectOnly({ lease: mine, running: 7n, hot: false, isHotKnown: false, target: "a" }, { stay: ["x"] });
    const idle = { ...mine, source: "promoted" } as const;
    expectOnly(
      { lease: idle, running: 7n, hot: false, isHotKnown: false, isIdle: true, target: "a" },
      { stay: ["x"] },
    );
  });
});

describe("rows of what is cold", () => {
  test("are tidied up by the first member only, when their owner is gone or nobody", () => {
    for (const left of [{ isLost: true }, free, { owner: "evicted", isLost: true }]) {
      expectOnly({ lease: left, hot: false }, { tidy: held });
      expectOnly({ lease: left, hot: false, members: ["0", "a"] }, {});
    }
  });

  test("stay while their owner has them", () => {
    expectOnly({ lease: {}, hot: false }, {});
    expectOnly({ lease: { state: "draining" }, hot: false }, {});
    expectOnly({ lease: { owner: "evicted" }, hot: false }, { waiting: 1 });
  });

  test("that a task left behind are tidied up when its owner is gone", () => {
    expectOnly({ lease: { source: "task", isLost: true }, hot: false }, { tidy: held });
    expectOnly({ lease: { source: "task" }, hot: false }, {});
  });

  test("are no one's to tidy up before it is known what is hot: they are run instead", () => {
    expectOnly({ lease: free, hot: false, isHotKnown: false, members: ["a"] }, { win: [wanted], waiting: 1 });
    const task = { ...free, source: "task" } as const;
    expectOnly({ lease: task, hot: false, isHotKnown: false, members: ["a"] }, { tidy: held });
  });

  test("of promoted tenants are no such rows: they stay hot without anybody listing them", () => {
    const promoted = { ...free, source: "promoted" } as const;
    const win = [{ ...wanted, source: "promoted" as const }];
    expectOnly({ lease: promoted, hot: false, members: ["a"] }, { win, waiting: 1 });
  });
});
