import { InvalidNameError } from "../errors.js";
import { isReserved } from "./derived-names.js";

/** The names in the SQL files stand for the real ones. */
export interface Names {
  readonly schema: string;
  readonly queue: string;
}

export const defaultNames: Names = Object.freeze({ schema: "leasehold", queue: "inbox" });

const namePattern = /^[a-z_][a-z0-9_]{0,47}$/;

/** Words that PostgreSQL reserves; an unquoted schema of that name would be a syntax error. */
const reservedWords: ReadonlySet<string> = new Set(
  (
    "all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column " +
    "concurrently constraint create cross current_catalog current_date current_role current_schema current_time " +
    "current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full " +
    "grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime " +
    "localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right " +
    "select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using " +
    "variadic verbose when where window with"
  ).split(" "),
);

/** Only names that pass here are ever put into SQL text; everything else is a parameter. */
export function checkSchemaName(name: unknown): string {
  const checked = checkName("schema", name);
  if (reservedWords.has(checked)) throw new InvalidNameError("schema", name, "it is a reserved word of SQL");
  if (checked.startsWith("pg_"))
    throw new InvalidNameError("schema", name, "names that begin with pg_ belong to PostgreSQL");
  return checked;
}

export function checkQueueName(name: unknown): string {
  const checked = checkName("queue", name);
  if (checked.startsWith("pg_") || isReserved(checked)) {
    throw new InvalidNameError(
      "queue",
      name,
      "the name is reserved for a table, index or function of the library",
    );
  }
  // Records of queues are plain objects, which have these.
  if (checked in Object.prototype)
    throw new InvalidNameError("queue", name, "every object of JavaScript has it");
  return checked;
}

/** Puts the real schema and queue in the place of `leasehold` and `inbox`, in one go so that neither is replaced twice. */
export function withNames(text: string, names: Names): string {
  return text.replace(/\b(leasehold|inbox)(?=_|\b)/g, (word) =>
    word === "inbox" ? names.queue : names.schema,
  );
}

export function checkName(what: string, name: unknown): string {
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new InvalidNameError(
      what,
      name,
      "it must match ^[a-z_][a-z0-9_]{0,47}$ (lower case, at most 48 characters)",
    );
  }
  return name;
}
