import { expect, test, vi } from "vitest";
import { chosenLogger } from "../../src/adapters/stderr-logger.js";

/** JSON escapes C0 alone. These begin sequences of a terminal too (C1), delete, or turn the direction of what follows. */
const evil = "\u007f\u009b2J\u0085\u061c\u200e\u2028\u202e\u2066end\n\u001b[2J";
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const raw = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

function printed(format: "json" | "pretty", fields: object): readonly string[] {
  const lines: string[] = [];
  const spy = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  try {
    chosenLogger(format)?.error(fields, `failed: ${evil}`);
  } finally {
    spy.mockRestore();
  }
  return lines;
}

test("a log line in JSON has no control character of data, and the fields stay equal", () => {
  const fields = { event: "json", id: evil, [evil]: [{ evil }] };
  const [line = "", ...others] = printed("json", fields);
  expect(others).toEqual([]);
  expect(line).not.toMatch(raw);
  expect(JSON.parse(line)).toMatchObject(fields);
  const [cut = ""] = printed("json", { event: `cut${evil}`, id: "x".repeat(1_000_000) });
  expect(cut).not.toMatch(raw);
  expect(JSON.parse(cut)).toMatchObject({ event: `cut${evil}` });
});

test("a log line as text has none either", () => {
  const lines = printed("pretty", { event: "pretty", id: evil });
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toMatch(raw);
});
