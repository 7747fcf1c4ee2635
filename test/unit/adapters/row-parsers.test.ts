import pg from "pg";
import { expect, test } from "vitest";
import { parseTextArray, parseTime, rowParsers } from "../../../src/adapters/row-parsers.js";

const textArray: number = 1009;

test.each([
  ["2026-02-03 04:05:06.789123+00", "2026-02-03T04:05:06.789Z"],
  ["2026-02-03 04:05:06-05", "2026-02-03T09:05:06.000Z"],
  ["2026-02-03 04:05:06.5+05:45", "2026-02-02T22:20:06.500Z"],
  ["1880-01-01 00:00:00+00:19:32", "1879-12-31T23:40:28.000Z"],
  ["0044-03-15 12:00:00+00", "0044-03-15T12:00:00.000Z"],
  ["0044-03-15 12:00:00+00 BC", "-000043-03-15T12:00:00.000Z"],
  ["12026-02-03 04:05:06+00", "+012026-02-03T04:05:06.000Z"],
])("the time %s is read as %s, as the driver reads it", (text, iso) => {
  expect(parseTime(text).toISOString()).toBe(iso);
  expect(parseTime(text)).toEqual(pg.types.getTypeParser(1184)(text));
});

test.each([
  ["infinity", "+275760-09-13T00:00:00.000Z"],
  ["-infinity", "-271821-04-20T00:00:00.000Z"],
  ["294276-12-31 23:59:59+00", "+275760-09-13T00:00:00.000Z"],
])("the time %s, which no Date can hold, becomes the nearest that it can", (text, iso) => {
  expect(parseTime(text).toISOString()).toBe(iso);
});

test("a time of another style is an error, not an invalid Date", () => {
  expect(() => parseTime("03.02.2026 04:05:06 CET")).toThrow("the style ISO");
});

test.each([
  "{}",
  "{a}",
  '{a,"b c",NULL,"NULL",""}',
  '{"with \\"quotes\\"","back\\\\slash","{braces, and commas}"}',
  '{"two\nlines"}',
])("the array %s is read as the driver reads it", (text) => {
  expect(parseTextArray(text)).toEqual(pg.types.getTypeParser(textArray)(text));
});

test.each([
  [16, "t", true],
  [16, "f", false],
  [20, "18014398509481985", "18014398509481985"],
  [23, "-7", -7],
  [701, "0.30000000000000004", 0.1 + 0.2],
  [114, '{"a":[1]}', { a: [1] }],
  [3802, "null", null],
  [25, "text", "text"],
])("a column of type %i with %s is read as %s", (oid, text, value) => {
  expect(rowParsers.getTypeParser(oid, "text")(text)).toEqual(value);
});
