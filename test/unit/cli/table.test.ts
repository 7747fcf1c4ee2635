import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { paint } from "../../../cli/paint.js";
import { type Column, table } from "../../../cli/table.js";
import { cut, plain, printable, widthOf, wrap } from "../../../cli/text-width.js";
import type { Screen } from "../../../cli/view.js";
import { plainText } from "../../../src/plain-text.js";

const screen = (width: number): Screen => ({ width, paint: paint(false), now: new Date(0) });

interface Row {
  readonly name: string;
  readonly count: string;
  readonly words: string;
}

const columns: readonly Column<Row>[] = [
  { title: "NAME", value: ({ name }) => name, least: 6 },
  { title: "COUNT", value: ({ count }) => count, align: "right" },
  { title: "WORDS", value: ({ words }) => words, least: 6, isExpendable: true },
];

describe("tables", () => {
  it("fit the screen whatever is in them, and one line is one row", () => {
    const row = fc.record({
      name: fc.string({ unit: "grapheme", maxLength: 40 }),
      count: fc.integer({ min: 0, max: 99_999 }).map(String),
      words: fc.string({ unit: "grapheme", maxLength: 80 }),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 24, max: 120 }), (rows, width) => {
        const lines = table(screen(width), rows, columns);
        expect(lines).toHaveLength(rows.length + 1);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("cut nothing when the output is piped", () => {
    const rows = [{ name: "n".repeat(50), count: "1", words: "w".repeat(200) }];
    const [, line] = table(screen(Number.POSITIVE_INFINITY), rows, columns);
    expect(line).toBe(`${"n".repeat(50)}      1  ${"w".repeat(200)}`);
  });

  it("leave out columns that are expendable before they cut others below their least width", () => {
    const rows = [{ name: "abcdef", count: "12345", words: "more than there is room for" }];
    expect(table(screen(14), rows, columns)).toEqual(["NAME    COUNT", "abcdef  12345"]);
  });

  it("leave out optional columns without a value", () => {
    const optional = columns.map((column) => ({ ...column, isOptional: true as const }));
    expect(table(screen(80), [{ name: "a", count: "", words: "" }], optional)).toEqual(["NAME", "a"]);
  });
});

describe("text", () => {
  it("of others can't move the cursor, change colours or begin a line", () => {
    const text = plain("a\u001b[31mred\r\nnext\u202eline\u0000");
    expect(text).toBe("a\\u001b[31mred next\\u202eline\\u0000");
  });

  it("of others is plain in the library's log too", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(plainText(text)).toBe(plain(text));
      }),
    );
    expect(plainText(" ".repeat(200_000))).toHaveLength(200_000);
    expect(plain("a\u200eb\u200fc\u061cd\u009b")).toBe("a\\u200eb\\u200fc\\u061cd\\u009b");
  });

  it("keeps our colours when it is printed, and no other escape", () => {
    const line = `${paint(true).bad("bad\u001b[2J")} \u001b[8mhidden\nnext`;
    expect(printable(line, true)).toBe("\u001b[31mbad\\u001b[2J\u001b[0m \\u001b[8mhidden next");
    expect(printable("\u001b[31mred", false)).toBe("\\u001b[31mred");
  });

  it("has the width that a terminal gives it", () => {
    expect(widthOf("日本")).toBe(4);
    expect(widthOf("e\u0301")).toBe(1);
    expect(widthOf("\u001b[31mred\u001b[0m")).toBe(3);
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("short", 5)).toBe("short");
  });

  it("is wrapped between words", () => {
    expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
    expect(wrap("a\u001b[2J\nb", 80)).toEqual(["a\\u001b[2J b"]);
    expect(wrap("unbreakable words", 5, "  ")).toEqual(["  unbreakable", "  words"]);
  });
});
