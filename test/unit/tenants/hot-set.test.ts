import { describe, expect, test } from "vitest";
import { createEvents, type EventMap } from "../../../src/events.js";
import { defaults } from "../../../src/settings.js";
import { HotSet } from "../../../src/tenants/hot-set.js";
import type { TenantSupervisorOptions } from "../../../src/tenants/tenant-settings.js";
import { manualClock, settled } from "./manual-clock.js";

type HotOptions = Pick<TenantSupervisorOptions, "hot" | "policy">;
type Listed = ReturnType<NonNullable<TenantSupervisorOptions["hot"]>>;

function listening(options: HotOptions) {
  const clock = manualClock();
  const events = createEvents();
  const unlisted: EventMap["tenants:unlisted"][] = [];
  events.on("tenants:unlisted", (event) => unlisted.push(event));
  return { clock, unlisted, set: new HotSet({ clock, events }, "agents", options) };
}

const listed = (region: string | null = null) => ({ region, source: "listed" });

describe("what is hot", () => {
  test("is what hot() lists, as text or with a region", async () => {
    const { set } = listening({
      hot: () => ["x", { tenant: "y", preferredRegion: "eu" }, { tenant: "z", preferredRegion: null }],
    });
    expect(set.isKnown).toBe(false);
    await set.refresh();
    expect(set.isKnown).toBe(true);
    expect([...set.current]).toEqual([
      ["x", listed()],
      ["y", listed("eu")],
      ["z", listed()],
    ]);
  });

  test("may come as any iterable, and by a promise; a name given twice counts once", async () => {
    const { set } = listening({ hot: async () => new Set(["x", "y"]).values() });
    await set.refresh();
    expect([...set.current.keys()]).toEqual(["x", "y"]);
    const { set: twice } = listening({ hot: () => ["x", { tenant: "x", preferredRegion: "eu" }] });
    await twice.refresh();
    expect([...twice.current]).toEqual([["x", listed("eu")]]);
  });

  test("is also what the policy finds busy; what is listed too counts as listed", async () => {
    const measure = () => [
      { tenant: "busy", depth: 5, preferredRegion: "eu" },
      { tenant: "both", depth: 5 },
      { tenant: "calm", depth: 1 },
    ];
    const { set } = listening({ hot: () => ["both"], policy: { measure, depthMin: 5 } });
    await set.refresh();
    expect([...set.current].sort()).toEqual([
      ["both", listed()],
      ["busy", { region: "eu", source: "policy" }],
    ]);
  });

  test("is nothing without hot() and policy, and that is known", async () => {
    const { set } = listening({});
    await set.refresh();
    expect(set.isKnown).toBe(true);
    expect(set.current.size).toBe(0);
    expect(set.isIdle("x", 0)).toBe(false);
  });

  test("follows hot(), also to nothing", async () => {
    let now = ["x"];
    const { set } = listening({ hot: () => now });
    await set.refresh();
    now = [];
    await set.refresh();
    expect(set.current.size).toBe(0);
  });
});

describe("a failure leaves what was said last, and is told", () => {
  const failures: [string, () => Listed][] = [
    [
      "a throw",
      () => {
        throw new Error("out of order");
      },
    ],
    ["a rejection", () => Promise.reject(new Error("out of order"))],
    ["no list", () => 17 as unknown as Listed],
    ["nothing", () => undefined as unknown as Listed],
    ["a list with null", () => ["x", null] as unknown as Listed],
    ["a list with numbers", () => [17] as unknown as Listed],
    ["an empty name", () => ["y", ""]],
    ["a name with NUL", () => ["y\0"]],
    ["a lone surrogate", () => ["y\ud800"]],
    ["a name that is too long", () => ["y".repeat(defaults.keyBytesMax + 1)]],
    ["an empty region", () => [{ tenant: "y", preferredRegion: "" }]],
  ];
  // An answer of nothing is taken for an empty list.
  test.each(failures.filter(([what]) => what !== "nothing"))("%s", async (_, failing) => {
    let isFailing = false;
    const { set, unlisted } = listening({ hot: () => (isFailing ? failing() : ["x"]) });
    await set.refresh();
    isFailing = true;
    await set.refresh();
    expect([...set.current]).toEqual([["x", listed()]]);
    expect(unlisted).toEqual([{ supervisor: "agents", error: expect.any(Error) }]);
    isFailing = false;
    await set.refresh();
    expect(unlisted).toHaveLength(1);
  });

  test("at the first time: nothing is known then", async () => {
    const { set, unlisted } = listening({ hot: () => Promise.reject(new Error("not yet")) });
    await set.refresh();
    expect(set.isKnown).toBe(false);
    expect(unlisted).toHaveLength(1);
  });

  test("of measure(), though hot() answers", async () => {
    let isFailing = false;
    const measure = () => (isFailing ? Promise.reject(new Error("no")) : [{ tenant: "busy", depth: 9 }]);
    const { set, unlisted } = listening({ hot: () => ["x"], policy: { measure, depthMin: 1 } });
    await set.refresh();
    isFailing = true;
    await set.refresh();
    expect([...set.current.keys()].sort()).toEqual(["busy", "x"]);
    expect(unlisted).toHaveLength(1);
  });

  test("too many tenants: none of them is taken", async () => {
    const many = Array.from({ length: defaults.tenantsMax + 1 }, (_, i) => `t${i}`);
    let now = many.slice(1);
    const { set, unlisted } = listening({ hot: () => now });
    await set.refresh();
    expect(set.current.size).toBe(defaults.tenantsMax);
    now = many;
    await set.refresh();
    expect(set.current.has("t0")).toBe(false);
    expect(unlisted.map(({ error }) => error)).toEqual([
      expect.objectContaining({ code: "LH_INVALID_OPTION", option: "hot" }),
    ]);
  });

  test("no answer within the limit; the late one changes nothing, and no timer is left behind", async () => {
    let answer: (now: string[]) => void = () => {};
    const { set, clock, unlisted } = listening({
      hot: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const first = set.refresh();
    await clock.advance(defaults.hotTimeoutMs - 1);
    expect(unlisted).toEqual([]);
    await clock.advance(1);
    await first;
    expect(unlisted).toHaveLength(1);
    answer(["late"]);
    await settled();
    expect(set.isKnown).toBe(false);
    const second = set.refresh();
    await settled();
    answer(["x"]);
    await second;
    expect([...set.current.keys()]).toEqual(["x"]);
    expect(clock.sleeps).toEqual([]);
  });
});

test("idle is what the policy says, counted from when the tenant began here", async () => {
  const { set, clock } = listening({ policy: { measure: () => [], depthMin: 1, idleMs: 100 } });
  const beganAtMs = clock.monotonicMs();
  expect(set.isIdle("x", beganAtMs)).toBe(false);
  await clock.advance(100);
  expect(set.isIdle("x", beganAtMs)).toBe(true);
});
