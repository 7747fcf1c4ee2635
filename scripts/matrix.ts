/**
 * Runs the tests on each supported version of PostgreSQL, one after the other, and prints a table.
 * Numbers among the arguments select versions; everything else goes to vitest: `npm run test:matrix -- 14 16 test/unit`.
 */
import { installServers } from "./matrix/install-servers.js";
import { openServer } from "./matrix/open-server.js";
import { runTests, type TestCounts } from "./matrix/run-tests.js";

const VERSIONS = [14, 15, 16, 17, 18] as const;

interface Row extends TestCounts {
  readonly version: string;
  readonly place: string;
}

async function main(parameters: readonly string[]): Promise<number> {
  const versions = selectedVersions(parameters);
  if (versions === undefined) {
    console.error(`Only ${VERSIONS.join(", ")} can be selected.`);
    return 2;
  }
  const filters = parameters.filter((parameter) => !/^\d+$/.test(parameter));
  const rows: Row[] = [];
  const interruption = watchForInterruption();
  for (const version of versions) {
    if (interruption.hasHappened()) break;
    rows.push(await runVersion(version, filters));
  }
  console.log(`\n${renderTable(rows)}`);
  return rows.length === versions.length && rows.every(({ isGreen }) => isGreen) ? 0 : 1;
}

function selectedVersions(parameters: readonly string[]): readonly number[] | undefined {
  const wanted = parameters.filter((parameter) => /^\d+$/.test(parameter)).map(Number);
  if (wanted.some((version) => !VERSIONS.some((known) => known === version))) return undefined;
  return VERSIONS.filter((version) => wanted.length === 0 || wanted.includes(version));
}

/** Ctrl-C reaches the running tests by itself; here it only ends the series, so that every server is put away. */
function watchForInterruption(): { hasHappened(): boolean } {
  let hasHappened = false;
  process.on("SIGINT", () => {
    hasHappened = true;
  });
  return { hasHappened: () => hasHappened };
}

async function runVersion(major: number, filters: readonly string[]): Promise<Row> {
  console.log(`\nPostgreSQL ${major}: looking for a server`);
  try {
    const server = await openServer(major, installServers);
    try {
      console.log(`PostgreSQL ${major}: the tests run on ${server.version} (${server.place})`);
      // The tests of the launcher start servers of their own, so once is enough for them.
      const parameters = major === 18 ? filters : [...filters, "--exclude", "test/embedded/**"];
      const counts = await runTests(server.url, { label: `pg${major}`, parameters });
      return { version: server.version, place: server.place, ...counts };
    } finally {
      await server.close();
    }
  } catch (error) {
    console.error(`PostgreSQL ${major}: ${String(error)}`);
    return {
      version: String(major),
      place: "not started",
      passed: 0,
      failed: 0,
      skipped: 0,
      seconds: 0,
      isGreen: false,
    };
  }
}

function renderTable(rows: readonly Row[]): string {
  const head = ["version", "where", "passed", "failed", "skipped", "seconds", ""];
  const body = rows.map((row) => [
    row.version,
    row.place,
    String(row.passed),
    String(row.failed),
    String(row.skipped),
    row.seconds.toFixed(1),
    row.isGreen ? "" : "FAILED",
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...body.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

process.exitCode = await main(process.argv.slice(2));
