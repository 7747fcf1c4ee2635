import { describe, expect, test } from "vitest";
import { checkQueueName, checkSchemaName, defaultNames, withNames } from "../../../src/database/names.js";
import { InvalidNameError } from "../../../src/errors.js";

const attacks = [
  "; drop schema public cascade",
  "; drop schema public cascade; --",
  "'; drop table jobs; --",
  '"; drop table jobs; --',
  "' or '1'='1",
  "' or 1=1 --",
  '" or ""="',
  "') or ('1'='1",
  "/**/union/**/select/**/1",
  " union select usename from pg_user",
  "; copy jobs to program 'sh'",
  "$$; select 1; $$",
  "$1",
  "$(x)",
  "%s",
  "%I",
  "\\'; drop table jobs; --",
  "--",
  "/*",
  "*/",
  ";",
  "'",
  "''",
  '"',
  '""',
  "`",
  "\\",
  ".",
  "..",
  ".inbox",
  "inbox.other",
  "a-b",
  "a,b",
  "a=b",
  "a:b",
  "a/b",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  "(select 1)",
  "a()",
  "a[1]",
  "{a}",
  "@a",
  "#a",
  "~a",
  "a!",
  "a?",
  "a&b",
  "a|b",
  "a+b",
  "a*",
  "a^b",
  "inbox;",
  "inbox--",
  "inbox/*",
  "inbox'",
  'inbox"',
  "inbox\\",
  '"inbox"',
  "'inbox'",
  'U&"\\0061"',
];
const characters = [
  "\u0000",
  "\n",
  "\r",
  "\t",
  "\v",
  "\f",
  " ",
  "\u00a0",
  "\u2028",
  "\u200b",
  "\ufeff",
  "\u202e",
];
const letters = [
  "é",
  "ß",
  "ı",
  "İ",
  "\u212a",
  "ſ",
  "ａ",
  "а",
  "α",
  "中",
  "😀",
  "\ud800",
  "\udc00",
  "e\u0301",
  "１",
  "²",
];
const placed = [...characters, ...letters].flatMap((c) => [c, `a${c}`, `${c}a`, `a${c}b`]);
const cases = ["A", "Inbox", "INBOX", "inBox", "inboX", "Public", "PG_x"];
const lengths = [49, 50, 63, 64, 70, 128, 1_000, 1_000_000].map((n) => "a".repeat(n));
const starts = ["0", "1a", "9inbox", "-a", "$a", ".a", ""];
const otherTypes = [
  undefined,
  null,
  0,
  1,
  true,
  {},
  [],
  ["inbox"],
  () => "inbox",
  Symbol("a"),
  1n,
  new String("inbox"),
];
const patternBreakers: readonly unknown[] = [
  ...attacks,
  ...placed,
  ...cases,
  ...lengths,
  ...starts,
  ...otherTypes,
];

test("there are at least 200 of them, all different", () => {
  expect(new Set(patternBreakers).size).toBe(patternBreakers.length);
  expect(patternBreakers.length).toBeGreaterThanOrEqual(200);
});

test.each([
  ["schema", checkSchemaName],
  ["queue", checkQueueName],
])("every hostile %s name is refused with a code and a short message", (what, check) => {
  for (const name of patternBreakers) {
    const refused = expect.objectContaining({ code: "LH_INVALID_NAME" });
    expect(() => check(name), `${what} ${String(name).slice(0, 60)}`).toThrow(refused);
    try {
      check(name);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidNameError);
      expect((error as Error).message.length).toBeLessThan(300);
    }
  }
});

test("names that begin with pg_ belong to PostgreSQL", () => {
  for (const name of ["pg_x", "pg_catalog", "pg_temp", "pg_toast", "pg_"]) {
    expect(() => checkSchemaName(name)).toThrow(InvalidNameError);
    expect(() => checkQueueName(name)).toThrow(InvalidNameError);
  }
  expect(checkSchemaName("pgx")).toBe("pgx");
});

test("a queue may not take the name of a table of the library", () => {
  const tables = [
    "queues",
    "workers",
    "worker_lease",
    "dedupe",
    "receipts",
    "handled",
    "fences",
    "tenant_leases",
  ];
  for (const name of [...tables, "samples", "migrations", "lease_tokens", "enqueue"]) {
    expect(() => checkQueueName(name), name).toThrow(/reserved/);
  }
});

test("a queue may not take the name of a part of another queue", () => {
  const endings = [
    "archive",
    "archive_rest",
    "hot_keys",
    "seq",
    "pkey",
    "line",
    "scheduled",
    "finished",
    "a20261115",
  ];
  for (const ending of endings) expect(() => checkQueueName(`inbox_${ending}`), ending).toThrow(/reserved/);
  for (const name of ["archives", "my_archive_2", "inbox_a2026111", "a20261115", "line"]) {
    expect(checkQueueName(name)).toBe(name);
  }
});

test("good names pass unchanged, up to 48 characters", () => {
  for (const name of ["inbox", "_", "_a", "a", "a1_b2", "z".repeat(48), "leasehold"]) {
    expect(checkSchemaName(name)).toBe(name);
    expect(checkQueueName(name)).toBe(name);
  }
});

test("a queue may not have the name of what every object has", () => {
  for (const name of ["__proto__", "constructor"]) {
    expect(() => checkQueueName(name)).toThrow(InvalidNameError);
    expect(checkSchemaName(name)).toBe(name);
  }
});

describe("putting names into SQL", () => {
  const text =
    "select leasehold.inbox_claim(), 'leasehold.inbox'::regclass, inbox_pkey, leasehold.lease_tokens, myinbox";

  test("replaces whole words, also before an underscore, and nothing inside other words", () => {
    expect(withNames(text, { schema: "s", queue: "q" })).toBe(
      "select s.q_claim(), 's.q'::regclass, q_pkey, s.lease_tokens, myinbox",
    );
  });

  test("replaces nothing twice when the names are swapped", () => {
    expect(withNames("leasehold.inbox", { schema: "inbox", queue: "leasehold" })).toBe("inbox.leasehold");
  });

  test("leaves the text alone under the default names", () => {
    expect(withNames(text, defaultNames)).toBe(text);
  });
});
