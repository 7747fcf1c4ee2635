/**
 * Writes the SQL of sql/ into TypeScript, the queries of sql/runbook into docs/runbook.md and the table of metrics into docs/metrics.md, so that nothing is read from disk at run time and a typo in the name of a
 * statement or a parameter does not compile. With --check it compares instead, and fails when a file is out of date.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseMigrations } from "./generate/parse-migrations.js";
import { parseRunbook } from "./generate/parse-runbook.js";
import { parseStatements } from "./generate/parse-statements.js";
import { renderLibrary, renderMigrations, renderStatements } from "./generate/render.js";
import { renderMetricsPage } from "./generate/render-metrics.js";
import { renderRunbook, renderRunbookPage } from "./generate/render-runbook.js";
import { nextRevision, parseRevision, renderRevision } from "./generate/revision.js";
import type { TextFile } from "./generate/statement-blocks.js";

function main(isCheck: boolean): number {
  const outputs = generate();
  const stale = outputs.filter(({ path, text }) => readIfExists(path) !== text);
  if (!isCheck) {
    for (const { path, text } of stale) writeFileSync(path, text);
    for (const { path } of stale) console.log(`generate: wrote ${path}`);
    return 0;
  }
  for (const { path } of stale) console.error(`${path} is out of date: run npm run generate`);
  return stale.length === 0 ? 0 : 1;
}

function generate(): readonly TextFile[] {
  const grants = { schema: readText("sql/grants/schema.sql"), queue: readText("sql/grants/queue.sql") };
  const files = readSqlFiles("sql/migrations");
  const revision = nextRevision(parseRevision(readIfExists("sql/revision") ?? ""), [
    ...files.map((file) => file.text),
    grants.schema,
    grants.queue,
  ]);
  const runbook = parseRunbook(readSqlFiles("sql/runbook"));
  return [
    { path: "sql/revision", text: renderRevision(revision) },
    {
      path: "src/database/statements.generated.ts",
      text: renderStatements(parseStatements(readSqlFiles("sql/statements"))),
    },
    {
      path: "src/database/migrations.generated.ts",
      text: renderMigrations(parseMigrations(files), grants) + renderLibrary(revision),
    },
    { path: "src/database/runbook.generated.ts", text: renderRunbook(runbook) },
    { path: "docs/metrics.md", text: renderMetricsPage(readText("docs/metrics.md")) },
    { path: "docs/runbook.md", text: renderRunbookPage(readText("docs/runbook.md"), runbook) },
  ];
}

function readSqlFiles(folder: string): readonly TextFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => ({ path: `${folder}/${name}`, text: readText(`${folder}/${name}`) }));
}

/** Line ends are made equal, so that a checkout on Windows generates the same text. */
function readText(path: string): string {
  return readFileSync(path, "utf8").replaceAll("\r\n", "\n");
}

function readIfExists(path: string): string | null {
  try {
    return readText(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

try {
  process.exitCode = main(process.argv.includes("--check"));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
