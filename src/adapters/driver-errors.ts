import { DatabaseRefusedError, DatabaseUnavailableError, type LeaseholdError } from "../errors.js";

/** Turns what the driver throws into one of our errors. `wasSent` is false when no statement can have reached the server. */
export function fromDriver(error: unknown, statement: string, wasSent: boolean): LeaseholdError {
  const sqlState = sqlStateOf(error);
  const options = { cause: error };
  if (sqlState === null) return new DatabaseUnavailableError(statement, wasSent, options);
  if (isConnectionState(sqlState))
    return new DatabaseUnavailableError(statement, wasSent && sqlState !== "53300", options);
  return new DatabaseRefusedError(statement, sqlState, messageOf(error), options);
}

export function sqlStateOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code) ? code : null;
}

/** A prepared statement that the connection does not have, has twice, or has with an outdated result: a pooler, or a migration. */
export function isPreparedStatementTrouble(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState === "26000" || sqlState === "42P05") return true;
  if (sqlState === "08P01" && messageOf(error).startsWith("bind message supplies")) return true;
  return sqlState === "0A000" && messageOf(error).includes("cached plan");
}

function isConnectionState(sqlState: string): boolean {
  return sqlState.startsWith("08") || ["57P01", "57P02", "57P03", "57P05", "53300"].includes(sqlState);
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = "hint" in error && typeof error.hint === "string" ? ` ${error.hint}` : "";
  return `${error.message}${hint}`;
}
