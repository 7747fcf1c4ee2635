/**
 * A test that is skipped in CI proves nothing, and nobody sees it. With CI set, this reporter names every skipped test
 * with its reason, and fails the run unless the reason is one that is expected there.
 *
 * A reason is given by `it.skipIf(condition)("...", { meta: { skipReason: "..." } }, ...)`, on the test or on a
 * describe around it, or by `context.skip(condition, "...")`.
 */
import type { Reporter, TestCase, TestModule } from "vitest/node";

declare module "vitest" {
  interface TaskMeta {
    /** Why the test does not run when its condition skips it. */
    skipReason?: string;
  }
}

const EXPECTED_REASONS: readonly RegExp[] = [
  /^needs PostgreSQL \d+ or later$/,
  /^runs on (macOS|Windows) only$/,
];

/** The embedded server comes without it. It runs on the PostgreSQL of the machine, in the matrix, and must not be skipped there. */
const EXPECTED_ON_THE_EMBEDDED_SERVER = /^needs pg_dump of PostgreSQL \d+$/;

export default class SkipsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!process.env.CI) return;
    const skipped = modules.flatMap((module) => [...module.children.allTests("skipped")]);
    const isEmbedded = !process.env.DATABASE_URL;
    const unexpected = skipped.filter((test) => !isExpected(skipReason(test), isEmbedded));
    for (const test of skipped) {
      const verdict = unexpected.includes(test) ? "NOT EXPECTED IN CI" : "expected";
      const reason = skipReason(test) ?? "no reason given";
      console.log(`skipped (${verdict}): ${test.module.relativeModuleId} > ${test.fullName}: ${reason}`);
    }
    console.log(`skips: ${skipped.length} skipped, ${unexpected.length} not expected in CI`);
    if (unexpected.length > 0) process.exitCode = 1;
  }
}

/** The note of the skip itself, else the reason of the test or of the nearest describe around it that has one. */
function skipReason(test: TestCase): string | undefined {
  const result = test.result();
  if (result.state === "skipped" && result.note !== undefined) return result.note;
  let task: TestCase | TestCase["parent"] = test;
  while (task.type !== "module") {
    const { skipReason: reason } = task.meta();
    if (reason !== undefined) return reason;
    task = task.parent;
  }
  return undefined;
}

export function isExpected(reason: string | undefined, isEmbedded: boolean): boolean {
  const patterns = [...EXPECTED_REASONS, ...(isEmbedded ? [EXPECTED_ON_THE_EMBEDDED_SERVER] : [])];
  return reason !== undefined && patterns.some((pattern) => pattern.test(reason));
}
