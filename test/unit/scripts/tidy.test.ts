import { describe, expect, it } from "vitest";
import { checkFiles } from "../../../scripts/tidy/check.js";
import { formatFinding } from "../../../scripts/tidy/finding.js";

/** The findings for one file, as they are printed. */
function tidy(path: string, text: string): readonly string[] {
  return checkFiles([{ path, text }]).map(formatFinding);
}

function lines(count: number, line: string): string {
  return `${line}\n`.repeat(count);
}

describe("sizes", () => {
  it("a file of 400 lines passes and one of 401 does not", () => {
    expect(tidy("src/work/claim.ts", lines(400, "// A line."))).toEqual([]);
    expect(tidy("src/work/claim.ts", lines(401, "// A line."))).toEqual([
      "src/work/claim.ts:401: 401 lines (at most 400), split the file by what its parts do",
    ]);
    expect(tidy("sql/migrations/0001_a.sql", lines(401, "select 1;"))).toHaveLength(1);
  });

  it("generated files may be long", () => {
    expect(tidy("src/database/statements.generated.ts", lines(500, "// A line."))).toEqual([]);
    expect(tidy("sql/schema.sql", lines(500, "select 1;"))).toEqual([]);
  });

  it.each([
    ["a declaration", "function settle() {\n", "}\n", "settle"],
    ["an arrow", "const settle = () => {\n", "};\n", "settle"],
    ["a method", "class Worker { settle() {\n", "} }\n", "settle"],
    ["a test", 'it("settles", () => {\n', "});\n", "function"],
    ["a test under a condition", 'it.skipIf(x)("settles", () => {\n', "});\n", "function"],
  ])("%s of 71 lines is too long and of 70 is not", (_case, head, tail, name) => {
    expect(tidy("src/work/settle.ts", head + lines(68, "step();") + tail)).toEqual([]);
    expect(tidy("src/work/settle.ts", head + lines(69, "step();") + tail)).toEqual([
      `src/work/settle.ts:1: ${name} has 71 lines (at most 70), move its steps into functions`,
    ]);
  });

  it("a describe block may be long, in each of its forms", () => {
    const body = lines(80, "step();");
    expect(tidy("test/unit/a.test.ts", `describe("a", () => {\n${body}});`)).toEqual([]);
    expect(tidy("test/unit/a.test.ts", `describe.skipIf(old)("a", { meta }, () => {\n${body}});`)).toEqual(
      [],
    );
    expect(tidy("test/unit/a.test.ts", `describe.each([1])("a", () => {\n${body}});`)).toEqual([]);
  });

  it("braces in strings, templates, patterns and comments do not count", () => {
    const body = lines(60, `use('}', \`}$\{'}'}\`, /}{/); // }`);
    expect(tidy("src/work/a.ts", `function one() {\n${body}}\nfunction two() {\n${body}}\n`)).toEqual([]);
  });

  it("a function takes at most four parameters", () => {
    expect(tidy("src/work/a.ts", "function f(this: T, a: A, b: B, c: C, d: D) {}")).toEqual([]);
    expect(tidy("src/work/a.ts", "const f = (a: A, b: B, c: C, d: D, e = 1) => a;")).toEqual([
      "src/work/a.ts:1: f has 5 parameters (at most 4), take an options object",
    ]);
  });

  it("a file exports at most six names", () => {
    const six = "export const a = 1, b = 2;\nexport type C = 1;\nexport { d, e };\nexport default f;\n";
    const overloads = "export function a(x: 1): 1;\nexport function a(x: 2): 2;\n";
    expect(tidy("src/work/a.ts", six)).toEqual([]);
    expect(tidy("src/work/a.ts", overloads.repeat(4))).toEqual([]);
    expect(tidy("src/work/a.ts", `${six}export * from "./b.js";`)).toEqual([
      "src/work/a.ts:1: 7 exports (at most 6), split the file or keep some names private",
    ]);
    for (const path of [
      "src/errors.ts",
      "src/events.ts",
      "src/index.ts",
      "src/settings.ts",
      "src/seams/clock.ts",
    ]) {
      expect(tidy(path, `${six}export interface G {}`)).toEqual([]);
    }
  });

  it("an SQL function has at most 120 lines", () => {
    const sql = (count: number): string =>
      `-- create function in a comment\ncreate or replace function leasehold.claim(a int) returns int as $$\n${lines(count, "perform 1;")}$$ language plpgsql;\n`;
    expect(tidy("sql/migrations/0001_a.sql", sql(118))).toEqual([]);
    expect(tidy("sql/migrations/0001_a.sql", sql(119))).toEqual([
      "sql/migrations/0001_a.sql:2: leasehold.claim has 121 lines (at most 120), move its steps into functions",
    ]);
  });
});

describe("what only adapters may touch", () => {
  it.each([
    ['import pg from "pg";', "imports pg"],
    ['import type { Pool } from "pg";', "imports pg"],
    ['import { setTimeout as sleep } from "node:timers/promises";', "imports node:timers/promises"],
    ['import { createHash } from "node:crypto";', "imports node:crypto"],
    ['import { hostname } from "node:os";', "imports node:os"],
    ['import { spawn } from "node:child_process";', "imports node:child_process"],
    ['import { readFile } from "node:fs/promises";', "imports node:fs/promises"],
    ['import { readFileSync } from "fs";', "imports fs"],
    ['import net from "node:net";', "imports node:net"],
    ['const fs = await import("node:fs");', "imports node:fs"],
    ['export { Pool } from "pg";', "imports pg"],
    ['import { trace } from "@opentelemetry/api";', "imports @opentelemetry/api"],
    ['import { Registry } from "prom-client";', "imports prom-client"],
    ["const t = Date.now();", "uses Date.now"],
    ["const read = Date.now;", "uses Date.now"],
    ["const t = new Date();", "uses the time of day by Date()"],
    ["const t = performance.now();", "uses performance"],
    ["setTimeout(f, 1);", "uses setTimeout"],
    ["const wait = { setTimeout };", "uses setTimeout"],
    ["setInterval(f, 1);", "uses setInterval"],
    ["setImmediate(f);", "uses setImmediate"],
    ["const r = Math.random();", "uses Math.random"],
    ["const id = randomUUID();", "uses randomUUID"],
    ["const id = crypto.randomUUID();", "uses crypto.randomUUID"],
    ["const url = process.env.DATABASE_URL;", "uses process"],
    ["const { env } = process;", "uses process"],
    ['console.log("x");', "uses console"],
    ["globalThis.setTimeout(f);", "uses globalThis"],
  ])("%s", (text, what) => {
    const [first, ...others] = tidy("src/work/claim.ts", `\n${text}\n`);
    expect(first).toContain(`src/work/claim.ts:2: ${what}, which only src/adapters may: `);
    expect(others).toEqual([]);
    expect(tidy("src/adapters/system-clock.ts", text)).toEqual([]);
    expect(tidy("scripts/sample.ts", text)).toEqual([]);
  });

  it("names the seam to use", () => {
    expect(tidy("src/connect.ts", "Date.now();")[0]).toContain("take the clock of src/seams/clock.ts");
    expect(tidy("src/connect.ts", "Math.random();")[0]).toContain(
      "take the random source of src/seams/random.ts",
    );
    expect(tidy("src/connect.ts", "console.log();")[0]).toContain("emit an event of src/events.ts");
  });

  it.each([
    "const t = new Date(row.created_at);",
    "clock.setTimeout(f);",
    "const job = { process: 1, console: 2 };",
    "interface Clock { setTimeout(ms: number): void; performance: number }",
    "// Date.now() in a comment",
    "const text = 'process.env and console.log';",
    'import { posix } from "node:path";',
    'import { EventEmitter } from "node:events";',
  ])("lets pass: %s", (text) => {
    expect(tidy("src/work/claim.ts", text)).toEqual([]);
  });
});

describe("import directions", () => {
  it.each([
    ["src/seams/clock.ts", 'import type { Job } from "../work/job.js";', "are the ground"],
    ["src/errors.ts", 'import { settle } from "./work/settle.js";', "are the ground"],
    ["src/events.ts", 'import { LeaseLostError } from "./errors.js";', "write import type"],
    [
      "src/work/claim.ts",
      'import { clock } from "../adapters/system-clock.js";',
      "take the seam as an argument",
    ],
    [
      "src/work/claim.ts",
      'import type { C } from "../adapters/system-clock.js";',
      "take the seam as an argument",
    ],
    [
      "src/database/migrate.ts",
      'export * from "../adapters/node-postgres.js";',
      "take the seam as an argument",
    ],
    ["src/settings.ts", 'type C = import("./adapters/a.js").C;', "take the seam as an argument"],
    [
      "src/work/claim.ts",
      'import { seed } from "../../test/support/seed.js";',
      "src/ is all that is published",
    ],
    ["cli/main.ts", 'import { claim } from "../src/work/claim.js";', "uses the public API"],
    ["examples/start.ts", 'import type { Job } from "../src/work/job.js";', "uses the public API"],
    ["simulation/simulate.ts", 'import { x } from "../src/adapters/x.js";', "brings its own seams"],
  ])("%s may not: %s", (path, text, message) => {
    const findings = tidy(path, text);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toContain(message);
  });

  it.each([
    ["src/events.ts", 'import type { LeaseholdError } from "./errors.js";'],
    ["src/seams/database.ts", 'import type { Clock } from "./clock.js";'],
    ["src/connect.ts", 'import { clock } from "./adapters/system-clock.js";'],
    ["src/adapters/a.ts", 'import { b } from "./b.js";'],
    ["src/work/claim.ts", 'import type { Clock } from "../seams/clock.js";'],
    ["cli/main.ts", 'import { connect } from "../src/index.js";'],
    ["cli/main.ts", 'import { migrate } from "./commands/migrate.js";'],
    ["examples/start.ts", 'import { startPostgres } from "../src/embedded.js";'],
    ["simulation/simulate.ts", 'import { claim } from "../src/work/claim.js";'],
    ["test/unit/a.test.ts", 'import { clock } from "../../src/adapters/system-clock.js";'],
  ])("%s may: %s", (path, text) => {
    expect(tidy(path, text)).toEqual([]);
  });

  it("a cycle in src is found once, with the way round", () => {
    const findings = checkFiles([
      { path: "src/work/a.ts", text: '\nimport { b } from "./b.js";' },
      { path: "src/work/b.ts", text: 'export { c } from "../runtime/c.js";' },
      { path: "src/runtime/c.ts", text: 'import { a } from "../work/a.js";' },
      { path: "src/work/d.ts", text: 'import { a } from "./a.js";' },
    ]);
    expect(findings.map(formatFinding)).toEqual([
      "src/work/b.ts:1: import cycle src/runtime/c.ts -> src/work/a.ts -> src/work/b.ts -> src/runtime/c.ts, move what both need into a third file",
    ]);
  });

  it("a cycle of types only is none", () => {
    const findings = checkFiles([
      { path: "src/work/a.ts", text: 'import { b } from "./b.js";' },
      { path: "src/work/b.ts", text: 'import type { a } from "./a.js";\nexport type { A } from "./a.js";' },
    ]);
    expect(findings).toEqual([]);
  });
});

describe("names", () => {
  it.each(["utils", "helpers", "common", "lib", "manager", "types"])("%s is a drawer", (name) => {
    expect(tidy(`src/work/${name}.ts`, "")[0]).toContain(`"${name}" is a drawer`);
    expect(tidy(`test/${name}/a.test.ts`, "")[0]).toContain(`"${name}" is a drawer`);
    expect(tidy(`test/unit/${name}.test.ts`, "")[0]).toContain(`"${name}" is a drawer`);
    expect(tidy(`scripts/sql-${name}.ts`, "")).toEqual([]);
  });

  it("index files stand at the top of src only", () => {
    expect(tidy("src/work/index.ts", "")[0]).toContain("index file inside src/");
    expect(tidy("src/index.ts", "")).toEqual([]);
  });
});

describe("ways round the checks", () => {
  it.each([
    "let a: any;",
    "const a = b as any;",
    "const a = new Map<string, any>();",
    "let a: any[];",
    "type A = Record<string, any>;",
    "function f(...a: any) {}",
  ])("type any: %s", (text) => {
    expect(tidy("test/unit/a.ts", text)).toEqual([
      "test/unit/a.ts:1: type any, write the type, or unknown and narrow it",
    ]);
  });

  it("the word any is no type", () => {
    expect(tidy("src/work/a.ts", "const any = ': any'; // any\nconst b: AnyJob = x.any;")).toEqual([]);
  });

  it.each([
    "// @ts-ignore because of a bug in the library\nf();",
    "// @ts-nocheck\nf();",
    "/* @ts-ignore */ f();",
    "// @ts-expect-error\nf();",
    "// @ts-expect-error: why\nf();",
    "// biome-ignore lint/suspicious/noConsole: <explanation>\nf();",
    "// biome-ignore lint/suspicious/noConsole\nf();",
    "// biome-ignore-all lint/suspicious/noConsole: x\nf();",
    "// eslint-disable-next-line no-console\nf();",
  ])("silenced: %s", (text) => {
    expect(tidy("src/work/a.ts", text)).toHaveLength(1);
  });

  it.each([
    "// @ts-expect-error the driver's types lack this option\nf();",
    "// biome-ignore lint/suspicious/noConsole: the program prints its report\nf();",
    "// eslint-disable-next-line no-console -- the program prints its report\nf();",
    'const text = "@ts-ignore";',
  ])("silenced with a reason, or not at all: %s", (text) => {
    expect(tidy("src/work/a.ts", text)).toEqual([]);
  });

  it.each(["TODO", "FIXME", "XXX", "HACK"])("%s in a comment", (mark) => {
    expect(tidy("src/work/a.ts", `\n/* Later: ${mark} this */`)[0]).toContain(`a.ts:2: ${mark} in a comment`);
    expect(tidy("sql/migrations/0001_a.sql", `select 1; -- ${mark}: x`)[0]).toContain(
      `sql:1: ${mark} in a comment`,
    );
    expect(tidy("sql/migrations/0001_a.sql", `select $f$\n\n-- ${mark}\n$f$;`)[0]).toContain(
      `sql:3: ${mark}`,
    );
    expect(tidy("src/work/a.ts", `const text = "${mark}";`)).toEqual([]);
  });

  it.each([
    'it.only("a", f);',
    'describe.only("a", f);',
    'test.only.each([1])("a", f);',
    'it.skip("a", f);',
    'describe.skip("a", f);',
    'it.todo("a");',
    "context.skip();",
    'context.skip("a note alone");',
  ])("a test that does not run: %s", (text) => {
    expect(tidy("test/unit/a.test.ts", text)).toHaveLength(1);
    expect(tidy("src/work/a.ts", text)).toEqual([]);
  });

  it.each([
    'it.skipIf(isOld)("a", { meta: { skipReason: "needs PostgreSQL 16" } }, f);',
    'context.skip(isOld, "needs PostgreSQL 16");',
    "cursor.skip;",
  ])("a test that runs when it can: %s", (text) => {
    expect(tidy("test/unit/a.test.ts", text)).toEqual([]);
  });

  it("a file that does not parse is a finding", () => {
    expect(tidy("src/work/a.ts", "const = ;")[0]).toContain("src/work/a.ts:1: does not parse");
    expect(tidy("sql/migrations/0001_a.sql", "select 'x")[0]).toContain("does not parse, line 1");
  });
});

describe("statements", () => {
  const sample = (sql: string): readonly string[] =>
    tidy("sql/statements/a.sql", `-- name: one\n-- Locks the row by its primary key.\n${sql};\n`);

  it.each(["random()", "gen_random_uuid()", "RANDOM ( )"])("%s is chance", (call) => {
    expect(sample(`select 1,\n ${call}`)[0]).toContain("sql/statements/a.sql:4: ");
    expect(tidy("sql/migrations/0001_a.sql", `select ${call};`)).toEqual([]);
  });

  it("a mention of chance in text and comments is none", () => {
    expect(sample("select 'random()' -- random()")).toEqual([]);
  });

  it("each block says what it locks", () => {
    const text = "-- name: one\n-- Locks nothing.\nselect 1;\n\n-- name: two\n-- Reads a clock.\nselect 2;\n";
    expect(tidy("sql/statements/a.sql", text)).toEqual([
      'sql/statements/a.sql:5: two does not say what it locks, add "-- Locks ..." with the order and the index',
    ]);
  });
});

describe("packages", () => {
  const host = ["registry", "npmjs", "org"].join(".");

  it("a lock file names no host", () => {
    const text = `{\n  "resolved": "https://${host}/pg.tgz"\n}`;
    expect(tidy("package-lock.json", text)[0]).toContain("package-lock.json:2: the lock file names a host");
    expect(tidy("test/matrix/package-lock.json", text)).toHaveLength(1);
    expect(tidy("package-lock.json", '{ "resolved": "dev", "link": true }')).toEqual([]);
  });

  it.each(["README.md", "src/connect.ts", ".npmrc", ".ci/run"])("%s names no registry", (path) => {
    const findings = tidy(path, `\n// see https://${host}/\n`);
    expect(findings).toEqual([
      `${path}:2: names a package registry, leave the host to the reader's npm configuration`,
    ]);
  });

  it("pg and commander are the only runtime dependencies", () => {
    const manifest = { dependencies: { pg: "8.0.0", lodash: "4.0.0" }, devDependencies: { vitest: "4.0.0" } };
    expect(tidy("package.json", JSON.stringify(manifest, null, 2))).toEqual([
      "package.json:4: runtime dependency lodash, do without it or make it an optional peer",
    ]);
    const own = '{ "dependencies": { "commander": "14.0.0", "pg": "8.0.0" } }';
    expect(tidy("package.json", own)).toEqual([]);
  });
});
