import {
  ConnectRefusedError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  type LeaseholdError,
  ReadOnlyServerError,
} from "../errors.js";

/** Turns what the driver throws into one of our errors. `wasSent` is false when no statement can have reached the server. */
export function fromDriver(error: unknown, statement: string, wasSent: boolean): LeaseholdError {
  const sqlState = sqlStateOf(error);
  const options = { cause: error };
  if (sqlState === null) return new DatabaseUnavailableError(statement, wasSent, options);
  if (isConnectionState(sqlState))
    return new DatabaseUnavailableError(statement, wasSent && sqlState !== "53300", options);
  if (sqlState === "25006") return new ReadOnlyServerError(statement, messageOf(error), options);
  return new DatabaseRefusedError(statement, sqlState, messageOf(error), options);
}

/** The same for a statement before the commit: it may have run, but nothing is committed, so nothing is ambiguous. */
export function fromTransaction(error: unknown, statement: string): LeaseholdError {
  if (isConnectionLost(error))
    return new DatabaseUnavailableError(statement, false, { cause: error, inTransaction: true });
  return fromDriver(error, statement, false);
}

/** The same when no connection could be made. What is refused now and will be refused again is no outage. */
export function fromConnecting(error: unknown, statement: string, whereTo: () => string): LeaseholdError {
  const sqlState = sqlStateOf(error);
  const reason = sqlState === null || isConnectionState(sqlState) ? lastingReason(error) : messageOf(error);
  if (reason === null) return fromDriver(error, statement, false);
  return new ConnectRefusedError(whereTo(), reason, { sqlState, cause: error });
}

/** Why the driver itself gives up on a login, and would do so each time; null for everything else. */
function lastingReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { message } = error;
  if (/client password must be/.test(message)) return "no password was given, and the server asks for one";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const isTls = /SSL connection/.test(message) || /^ERR_(TLS|SSL)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code);
  return isTls || /^SASL: |^Password must be a string/.test(message) ? message : null;
}

function sqlStateOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code) ? code : null;
}

/** Whether the connection that this came from is of no more use. A value that the driver can't send does it no harm. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof TypeError) return false;
  const sqlState = sqlStateOf(error);
  return sqlState === null || isConnectionState(sqlState);
}

/**
 * Another connection may do better: this one leads to a server that was demoted or is a standby, or somebody has given it another isolation level than the claim needs.
 */
export function isUnfit(error: unknown): boolean {
  return ["25006", "25001"].includes(sqlStateOf(error) ?? "");
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
