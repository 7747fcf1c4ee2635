import { describe, expect, it } from "vitest";
import { age, ago, count, counted, span } from "../../../cli/figures.js";
import { durationMs, json, jsonObject, point, wholeNumber } from "../../../cli/option-values.js";

describe("figures", () => {
  it("have units, and at most two of them", () => {
    const spans = [0, 850, 1_000, 59_999, 61_000, 3_600_000, 7_500_000, 90_000_000, 900_000_000];
    expect(spans.map(span)).toEqual([
      "0 ms",
      "850 ms",
      "1 s",
      "59 s",
      "1 min 1 s",
      "1 h",
      "2 h 5 min",
      "1 d 1 h",
      "10 d",
    ]);
  });

  it("have separators and the right number", () => {
    expect([count(1_234_567), counted(1, "job"), counted(0, "job"), counted(2, "match", "matches")]).toEqual([
      "1,234,567",
      "1 job",
      "0 jobs",
      "2 matches",
    ]);
  });

  it("say past, future and never", () => {
    const now = new Date(10_000);
    expect([
      ago(new Date(0), now),
      ago(new Date(12_000), now),
      ago(null, now),
      age(new Date(12_000), now),
    ]).toEqual(["10 s ago", "in 2 s", "-", "0 s"]);
  });
});

describe("values of options", () => {
  it("are lengths of time with a unit", () => {
    expect(["500ms", "30s", "10m", "10min", "2h", "7d", "1.5h", "0"].map(durationMs)).toEqual([
      500, 30_000, 600_000, 600_000, 7_200_000, 604_800_000, 5_400_000, 0,
    ]);
    for (const wrong of ["10", "m", "-5s", "1w", ""])
      expect(() => durationMs(wrong)).toThrow("is no length of time");
  });

  it("are whole numbers, times and JSON, or are refused", () => {
    expect(wholeNumber("-3")).toBe(-3);
    expect(() => wholeNumber("1.5")).toThrow("is no whole number");
    expect(point("2026-01-31T09:30:00Z").getTime()).toBe(1_769_851_800_000);
    expect(point("2026-01-31").toISOString()).toBe("2026-01-31T00:00:00.000Z");
    expect(point("2026-01-31T09:30:00+09:00").toISOString()).toBe("2026-01-31T00:30:00.000Z");
    for (const wrong of ["tomorrow", "2027-02-31", "2027-02-31T09:30:00Z", "2026-13-01"])
      expect(() => point(wrong), wrong).toThrow("is no time");
    expect(() => point("2026-01-31T09:30:00")).toThrow("has no time zone");
    expect(json("[1]")).toEqual([1]);
    for (const exact of [
      "9007199254740992",
      "0.1",
      "-1.50e3",
      "1e21",
      "100",
      "0.000001",
      "-0",
      '"9007199254740993"',
    ])
      expect(() => json(`{"a": [${exact}]}`), exact).not.toThrow();
    for (const inexact of ["9007199254740993", "0.1234567890123456789", "1e999", "12345678901234567890.12"])
      expect(() => json(`{"a": ${inexact}}`), inexact).toThrow("would be stored as");
    expect(() => json("{a")).toThrow("is no JSON");
    expect(() => jsonObject("[1]")).toThrow("is no JSON object");
  });
});
