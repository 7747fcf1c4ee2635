import type { ExitCode } from "./exit-codes.js";
import { type Failure, failureOf } from "./failure.js";
import { inFlags, withConnection, withoutCalls } from "./flag-words.js";
import { withRole } from "./missing-right.js";
import { paint } from "./paint.js";
import type { Parsed } from "./program.js";
import type { Surroundings } from "./surroundings.js";
import { jsonText } from "./text-width.js";

/** An error in the words of the command line. What could not be parsed has no options. */
export async function failureFor(
  error: unknown,
  parsed: Parsed | null,
  { environment }: Pick<Surroundings, "environment">,
): Promise<Failure> {
  const failure = withoutCalls(failureOf(error, await adviceOfLibrary(error)));
  if (parsed === null) return failure;
  const told = withRole(inFlags(failure, error, parsed), error, parsed, environment);
  return withConnection(told, parsed);
}

/** The library knows what to do about its errors; it is loaded already if it threw one. */
async function adviceOfLibrary(error: unknown): Promise<(code: string) => string | null> {
  if (!(error instanceof Error && "code" in error && String(error.code).startsWith("LH_"))) return () => null;
  const { errorTable } = await import("../src/index.js");
  return (code) => errorTable.find((entry) => entry.code === code)?.action ?? null;
}

export interface Telling {
  readonly isJson: boolean;
  readonly hasColour: boolean;
}

export function printFailure(
  failure: Failure,
  { stderr }: Pick<Surroundings, "stderr">,
  { isJson, hasColour }: Telling,
): ExitCode {
  if (isJson) {
    stderr.write(`${jsonText({ error: failure })}\n`);
    return failure.exitCode;
  }
  const { bad, faint } = paint(hasColour);
  stderr.write(`${bad(`error ${failure.code}:`)} ${failure.message}\n`);
  if (failure.advice !== null) stderr.write(`${faint("advice:")} ${failure.advice}\n`);
  return failure.exitCode;
}
