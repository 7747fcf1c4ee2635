import { describe, expect, test } from "vitest";
import { defaults } from "../../../src/settings.js";
import { checkedRegion, checkedTenant } from "../../../src/tenants/checked-tenant.js";
import { type TenantSupervisorOptions, tenantSettings } from "../../../src/tenants/tenant-settings.js";

const start = () => {};

describe("settings", () => {
  test("have defaults; the tick is the connection's", () => {
    expect(tenantSettings({ start }, 1_234)).toEqual({
      name: "tenants",
      isFleet: false,
      tickMs: 1_234,
      drainLimitMs: defaults.drainLimitMs,
      startupMs: defaults.tenantStartupMs,
      handlesSignals: true,
    });
  });

  test("are taken as given", () => {
    const given = {
      name: "agents",
      tickMs: 50,
      drainLimitMs: 0,
      startupMs: 0,
      handlesSignals: false,
    } as const;
    const settings = tenantSettings({ start, stop: start, hot: () => [], fleet: true, ...given }, 1_000);
    expect(settings).toEqual({ ...given, isFleet: true });
    expect(Object.isFrozen(settings)).toBe(true);
  });

  const bad: [string, unknown, string][] = [
    ["no options", undefined, "LH_INVALID_OPTION"],
    ["null", null, "LH_INVALID_OPTION"],
    ["a list", [], "LH_INVALID_OPTION"],
    ["a function", start, "LH_INVALID_OPTION"],
    ["no start", {}, "LH_INVALID_OPTION"],
    ["a start that is text", { start: "x" }, "LH_INVALID_OPTION"],
    ["a stop that is null", { start, stop: null }, "LH_INVALID_OPTION"],
    ["a hot that is a list", { start, hot: ["x"] }, "LH_INVALID_OPTION"],
    ["a fleet that is text", { start, fleet: "yes" }, "LH_INVALID_OPTION"],
    ["a handlesSignals that is a number", { start, handlesSignals: 1 }, "LH_INVALID_OPTION"],
    ["an empty name", { start, name: "" }, "LH_INVALID_NAME"],
    ["a name with a colon", { start, name: "a:b" }, "LH_INVALID_NAME"],
    ["a name with a quote", { start, name: "a'b" }, "LH_INVALID_NAME"],
    ["a name that is a number", { start, name: 1 }, "LH_INVALID_NAME"],
    ["a name that is too long", { start, name: "a".repeat(49) }, "LH_INVALID_NAME"],
  ];
  for (const option of ["tickMs", "drainLimitMs", "startupMs"])
    for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "100", null, 3_600_001])
      bad.push([
        `${option} of ${String(value)} (${typeof value})`,
        { start, [option]: value },
        "LH_INVALID_OPTION",
      ]);
  bad.push(["a tickMs that is too short", { start, tickMs: 49 }, "LH_INVALID_OPTION"]);

  test.each(bad)("refuse %s", (_, given, code) => {
    expect(() => tenantSettings(given as TenantSupervisorOptions, 1_000)).toThrow(
      expect.objectContaining({ code }),
    );
  });
});

describe("a tenant's name", () => {
  test.each([
    "x",
    "with 'quotes' \"and\" \\",
    "ünïcode 日本 🦊",
    " ",
    "x".repeat(512),
    "é".repeat(256),
    "{a,b}",
  ])("may be %s", (name) => {
    expect(checkedTenant(name)).toBe(name);
  });

  test.each([
    ["", "é".repeat(257), "x".repeat(513), "a\0b", "\ud800", "\udfff x", undefined, null, 7, 7n, {}, ["x"]],
  ])("may not be %s, which is refused with a code", (...names) => {
    for (const name of names)
      expect(() => checkedTenant(name)).toThrow(expect.objectContaining({ code: "LH_INVALID_KEY" }));
  });
});

describe("a region", () => {
  test("may be left out, and is text otherwise", () => {
    expect(checkedRegion(undefined)).toBeNull();
    expect(checkedRegion(null)).toBeNull();
    expect(checkedRegion("eu-central-1")).toBe("eu-central-1");
  });

  test("is refused with a code when it is empty, not storable or not text", () => {
    for (const region of ["", "a\0", "\ud800", 7, {}, false])
      expect(() => checkedRegion(region)).toThrow(expect.objectContaining({ code: "LH_INVALID_OPTION" }));
  });
});
