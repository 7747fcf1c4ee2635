import { expect, test } from "vitest";
import { logLine, type VitestReport } from "../../../scripts/repeat/log-line.js";

const facts = { date: "2026-11-18T00:00:00.000Z", commit: "abc", busy: 4, seconds: 9, exitCode: 0 };
const green: VitestReport = {
  numPassedTests: 2,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: [{ name: "a.test.ts", status: "passed", assertionResults: [] }],
};

test("a green run has its counts and no failures", () => {
  expect(JSON.parse(logLine(facts, green))).toEqual({
    date: "2026-11-18T00:00:00.000Z",
    commit: "abc",
    busy: 4,
    seconds: 9,
    passed: 2,
    failed: 0,
    skipped: 1,
    failures: [],
  });
});

test("a failed run names the tests that failed, and the files that could not be run", () => {
  const red: VitestReport = {
    ...green,
    numFailedTests: 1,
    testResults: [
      {
        name: "a.test.ts",
        status: "failed",
        assertionResults: [
          { fullName: "it works", status: "failed" },
          { fullName: "it also works", status: "passed" },
        ],
      },
      { name: "b.test.ts", status: "failed", assertionResults: [] },
    ],
  };
  const { failures } = JSON.parse(logLine({ ...facts, exitCode: 1 }, red));
  expect(failures).toEqual(["a.test.ts > it works", "b.test.ts"]);
});

test("a run that broke off, or failed outside of its tests, is no green run", () => {
  for (const report of [null, green]) {
    const { failures } = JSON.parse(logLine({ ...facts, exitCode: 1 }, report));
    expect(failures).toEqual(["vitest ended with 1"]);
  }
});
