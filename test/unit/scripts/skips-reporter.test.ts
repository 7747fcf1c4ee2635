import { expect, test } from "vitest";
import { isExpected } from "../../support/skips-reporter.js";

test.each([
  ["needs PostgreSQL 16 or later", true, true],
  ["needs pg_dump of PostgreSQL 18", true, false],
  ["needs pgbouncer", false, false],
  [undefined, false, false],
])("a skip for the reason %j is expected on the embedded server: %j, on a given one: %j", (...row) => {
  const [reason, onEmbedded, onGiven] = row;
  expect(isExpected(reason, true)).toBe(onEmbedded);
  expect(isExpected(reason, false)).toBe(onGiven);
});
