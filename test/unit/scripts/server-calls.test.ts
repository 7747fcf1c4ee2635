import { expect, test } from "vitest";
import { qualifyServerCalls, unqualifiedCalls } from "../../../scripts/generate/server-calls.js";
import { runbookTexts } from "../../../src/database/runbook.generated.js";
import * as statements from "../../../src/database/statements.generated.js";

test("calls of the server's functions get their schema, and nothing else does", () => {
  expect(qualifyServerCalls("select coalesce(now(), t.now, leasehold.now(1)) from unnest($1) u(now)")).toBe(
    "select coalesce(pg_catalog.now(), t.now, leasehold.now(1)) from pg_catalog.unnest($1) u(now)",
  );
});

test("unnest of several arrays stays as it is, because the server knows it without a schema only", () => {
  const text = "select 1 from unnest($1::text[], array(select f(1, 2))) u(a, b), unnest(g($2, 3)) v";
  expect(qualifyServerCalls(text)).toBe(text.replace("unnest(g", "pg_catalog.unnest(g"));
  expect(unqualifiedCalls("select 1 from unnest($1, $2) u(a, b)")).toEqual([]);
  expect(unqualifiedCalls("select 1 from unnest($1) u(a)")).toEqual(["unnest"]);
});

test("a call without a schema is found, and the name of a table function's result is not taken for one", () => {
  const text =
    "select lower(a), any(b) from pg_catalog.unnest($1) with ordinality u(a, n), leasehold.f(1) as r(b)";
  expect(unqualifiedCalls(text)).toEqual(["lower"]);
});

test("no statement calls a function without its schema", () => {
  const queries = Object.entries(runbookTexts).map(([name, text]) => ({ name, text }));
  const all = [...Object.values(statements), ...queries];
  expect(all.length).toBeGreaterThan(50);
  const found = all.flatMap(({ name, text }) => unqualifiedCalls(text).map((call) => `${name}: ${call}`));
  expect(found).toEqual([]);
});
