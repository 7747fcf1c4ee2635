import { DatabaseRefusedError, DatabaseUnavailableError, LeaseholdError } from "../../src/errors.js";

export function unavailable(statement: string, isAmbiguous: boolean): DatabaseUnavailableError {
  return new DatabaseUnavailableError(statement, isAmbiguous, { cause: new Error("the simulation lost it") });
}

/** What the server refused, as the library words it. */
export function refused(error: unknown, statement: string): Error {
  if (error instanceof LeaseholdError || !(error instanceof Error)) return error as Error;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== "string") return error;
  return new DatabaseRefusedError(statement, code, error.message, { cause: error });
}

/** A right that its role lacks, for now. */
export function denied(statement: string): DatabaseRefusedError {
  return new DatabaseRefusedError(statement, "42501", "permission denied by the simulation");
}
