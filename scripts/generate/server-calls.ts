/** Functions of the server that statements call. A call of any other function has to name its schema; test/unit/scripts/server-calls.test.ts looks. */
const serverFunctions: ReadonlySet<string> = new Set([
  ...[
    "count",
    "min",
    "max",
    "lower",
    "strpos",
    "left",
    "array_agg",
    "bool_or",
    "json_agg",
    "row_number",
    "unnest",
    "generate_series",
    "cardinality",
  ],
  ...["now", "clock_timestamp", "date_trunc", "to_char", "round", "format", "hashtext", "hashtextextended"],
  ...["jsonb_build_object", "json_build_array", "jsonb_to_recordset", "jsonb_array_elements", "nextval"],
  ...["set_config", "pg_notify", "pg_backend_pid", "pg_terminate_backend", "pg_relation_size", "to_regclass"],
  ...[
    "pg_try_advisory_lock",
    "pg_try_advisory_xact_lock",
    "aclexplode",
    "max",
    "sum",
    "jsonb_strip_nulls",
    "to_jsonb",
    "left",
  ],
  ...["current_setting", "current_database", "pg_is_in_recovery", "pg_blocking_pids", "age", "pg_table_size"],
  ...["pg_indexes_size", "pg_column_size", "octet_length"],
  ...["pg_control_system", "pg_postmaster_start_time", "pg_current_wal_lsn", "pg_last_wal_receive_lsn"],
  ...["pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp"],
  ...["right", "chr", "split_part", "regexp_replace", "string_agg", "to_date", "pg_total_relation_size"],
  ...["jsonb_object_agg"],
]);

/** What looks like a call and is syntax. */
const syntax: ReadonlySet<string> = new Set([
  ...["coalesce", "nullif", "greatest", "least", "extract", "any", "array", "exists"],
]);

const call = /(?<![\w."$])[a-z_][a-z0-9_]*(?=\()/g;

/**
 * Calls of the server's functions, with pg_catalog before them. A function of the same name in a schema of the search_path would be called in their place if the types
 * of its arguments fit better, even with pg_catalog first in the path.
 */
export function qualifyServerCalls(code: string): string {
  return code.replaceAll(call, (name, index: number) =>
    serverFunctions.has(name) && !isManyUnnest(name, code.slice(index)) ? `pg_catalog.${name}` : name,
  );
}

/** Names of functions that are called without a schema. A name behind `)`, `as` or `ordinality` is that of a table function's result. */
export function unqualifiedCalls(text: string): readonly string[] {
  return [...text.matchAll(call)]
    .filter(({ index }) => !/(\)|\bas|\bordinality)\s*$/.test(text.slice(0, index)))
    .filter(({ 0: name, index }) => !syntax.has(name) && !isManyUnnest(name, text.slice(index)))
    .map(([name]) => name);
}

/** unnest() of several arrays is syntax too, and only without a schema; the server takes its own function for each array. */
function isManyUnnest(name: string, rest: string): boolean {
  if (name !== "unnest") return false;
  let depth = 0;
  for (const character of rest) {
    if (character === "," && depth === 1) return true;
    if (character === "(") depth++;
    if (character === ")" && --depth === 0) return false;
  }
  return false;
}
