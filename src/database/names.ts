import { InvalidNameError } from "../errors.js";
import { isReserved } from "./derived-names.js";

/** The names in the SQL files stand for the real ones. */
export interface Names {
  readonly schema: string;
  readonly queue: string;
}

export const defaultNames: Names = Object.freeze({ schema: "leasehold", queue: "inbox" });

const namePattern = /^[a-z_][a-z0-9_]{0,47}$/;

/**
 * Key words of SQL that PostgreSQL 14 to 18 does not take as the schema of a table and of a function: all of pg_get_keywords() that are not unreserved. The schema stands
 * unquoted in statements and in the bodies of functions. `loop` is no key word of SQL, but one of PL/pgSQL. A queue stands behind its schema, where every word may stand.
 */
const keyWords: ReadonlySet<string> = new Set(
  (
    "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char " +
    "character check coalesce collate collation column concurrently constraint create cross current_catalog current_date " +
    "current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do else " +
    "end except exists extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in " +
    "initially inner inout int integer intersect interval into is isnull join json json_array json_arrayagg json_exists " +
    "json_object json_objectagg json_query json_scalar json_serialize json_table json_value lateral leading least left like limit " +
    "localtime localtimestamp loop merge_action national natural nchar none normalize not notnull null nullif numeric offset on " +
    "only or order out outer overlaps overlay placing position precision primary real references returning right row select " +
    "session_user setof similar smallint some substring symmetric system_user table tablesample then time timestamp to trailing " +
    "treat trim true union unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat " +
    "xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable"
  ).split(" "),
);

/** Only names that pass here are ever put into SQL text; everything else is a parameter. */
export function checkSchemaName(name: unknown): string {
  const checked = checkName("schema", name);
  if (keyWords.has(checked)) throw new InvalidNameError("schema", name, "it is a key word of SQL");
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
