/** What vitest's JSON reporter writes, as far as it is read here. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface RunFacts {
  readonly date: string;
  readonly commit: string;
  readonly busy: number;
  readonly seconds: number;
  readonly exitCode: number;
}

/** One run as a line of JSON. Without a report the run broke off, and its exit code is the failure. */
export function logLine(facts: RunFacts, report: VitestReport | null): string {
  const { exitCode, ...about } = facts;
  const failures = report === null ? [] : failuresOf(report);
  if (exitCode !== 0 && failures.length === 0) failures.push(`vitest ended with ${exitCode}`);
  return JSON.stringify({
    ...about,
    passed: report?.numPassedTests ?? 0,
    failed: report?.numFailedTests ?? 0,
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
    failures,
  });
}

/** The names of the tests that failed, and the files that could not be run at all. */
function failuresOf(report: VitestReport): string[] {
  return report.testResults.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((one) => one.status === "failed").map((one) => one.fullName);
    if (failed.length > 0) return failed.map((test) => `${name} > ${test}`);
    return status === "failed" ? [name] : [];
  });
}
