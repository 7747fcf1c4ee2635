import { type ExitCode, endingOf, exitCodes } from "./exit-codes.js";
import { plain } from "./text-width.js";

interface FailureWords {
  readonly message: string;
  readonly advice?: string;
  readonly cause?: unknown;
}

/** An error of the command line itself. What the library throws has its own codes. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly advice: string | null;

  constructor(code: string, exitCode: ExitCode, words: FailureWords) {
    super(words.message, { cause: words.cause });
    this.code = code;
    this.exitCode = exitCode;
    this.advice = words.advice ?? null;
  }
}

export function usageError(message: string, advice?: string): CliError {
  const words = advice === undefined ? { message } : { message, advice };
  return new CliError("CLI_USAGE", exitCodes.usage, words);
}

export function notFound(message: string, advice?: string): CliError {
  const words = advice === undefined ? { message } : { message, advice };
  return new CliError("CLI_NOT_FOUND", exitCodes.notFound, words);
}

/** An error as it is printed: the same keys with --json. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly advice: string | null;
  readonly exitCode: ExitCode;
}

/** `actionOf` gives the library's own advice for a code. */
export function failureOf(error: unknown, actionOf: (code: string) => string | null): Failure {
  if (error instanceof CliError) {
    const { code, advice, exitCode } = error;
    return { code, message: oneLine(error.message), advice: advice && oneLine(advice), exitCode };
  }
  const code = isMissingTable(error) ? "LH_NOT_MIGRATED" : codeOf(error);
  const ending = code === null ? null : endingOf(code);
  if (code === null || ending === null)
    return {
      code: "CLI_UNEXPECTED",
      message: oneLine(wordsOf(error)),
      advice: null,
      exitCode: exitCodes.failed,
    };
  return {
    code,
    message: oneLine(wordsOf(error)),
    advice: lacksPart(error) ? olderSchema : (ending.advice ?? actionOf(code)),
    exitCode: ending.exitCode,
  };
}

/** A new user's first command meets a database without the schema: some statements find that out before the library does. */
function isMissingTable(error: unknown): boolean {
  return ["42P01", "3F000"].includes(sqlStateOf(error));
}

const olderSchema =
  "The schema may be older than this version of leasehold. See what it lacks: leasehold migrate --plan; update it: leasehold migrate";

/** A column or a function that does not exist: statements of a new version on a schema that was not migrated yet. */
function lacksPart(error: unknown): boolean {
  return ["42703", "42883"].includes(sqlStateOf(error));
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error && "sqlState" in error ? String(error.sqlState) : "";
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  return error.code;
}

/** The cause is where a driver says which host refused, or a worker file which line failed. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const reason = cause instanceof Error ? cause.message || codeOf(cause) : null;
  if (!reason || error.message.includes(reason)) return error.message;
  return `${error.message} (${reason})`;
}

function oneLine(text: string): string {
  return plain(text).trim();
}
