import { shortHash } from "../database/bind.js";
import type { GuardedDatabase } from "../database/guarded-database.js";
import { checkQueueName, checkSchemaName, type Names, withNames } from "../database/names.js";
import { runbook, runbookTexts } from "../database/runbook.generated.js";
import type { RunbookEntry } from "../database/runbook-entry.js";
import { limitSupportQuery } from "../database/statements.generated.js";
import { InvalidOptionError } from "../errors.js";
import { nearestName } from "../nearest-name.js";
import { withKnownNames } from "../option-names.js";
import type { Query } from "../seams/database.js";
import { defaults } from "../settings.js";
import { isStorableText } from "../work/json.js";

/** The queue, and a value for each parameter that the query has. */
export interface RunbookOptions {
  /** By default `inbox`. Queries about the whole server or schema need none. */
  readonly queue?: string;
  readonly [parameter: string]: string | undefined;
}

export interface RunbookAnswer {
  /** Also when there is no row. */
  readonly columns: readonly string[];
  /** Numbers, text, booleans, dates and nulls. Integers of 64 bits are decimal text. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** A query of the runbook with checked values. */
export interface RunbookRequest {
  readonly entry: RunbookEntry;
  readonly queue: string;
  /** False when the answer is about the schema or the server. */
  readonly isOfQueue: boolean;
  readonly values: readonly string[];
}

export function runbookRequest(name: string, options: RunbookOptions): RunbookRequest {
  const entry = entryOf(name);
  const { parameters } = entry;
  const names = Object.fromEntries(["queue", ...parameters.map((one) => one.name)].map((one) => [one, true]));
  const given = withKnownNames(`the query ${entry.name}`, options, names as Record<string, true>);
  return {
    entry,
    queue: checkQueueName(given.queue ?? defaults.queue),
    isOfQueue: /\binbox/.test(entry.sql),
    values: parameters.map((parameter) =>
      checkedValue(parameter.name, given[parameter.name], parameter.meaning),
    ),
  };
}

function entryOf(name: unknown): RunbookEntry {
  const entry = runbook.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  const known = runbook.map((one) => one.name);
  const nearest = typeof name === "string" ? nearestName(name, known) : null;
  const advice = nearest === null ? known.join(", ") : `did you mean ${nearest}?`;
  throw new InvalidOptionError("name", name, `the name of a query in the runbook (${advice})`);
}

function checkedValue(name: string, value: unknown, meaning: string): string {
  if (typeof value !== "string" || value === "" || !isStorableText(value))
    throw new InvalidOptionError(name, value, `text: ${meaning}`);
  return value;
}

export async function runRunbook(
  { database, schema }: { readonly database: GuardedDatabase; readonly schema: string },
  { entry, queue, values }: RunbookRequest,
): Promise<RunbookAnswer> {
  const text = withNames(runbookTexts[entry.name] ?? "", { schema, queue });
  const query: Query<Readonly<Record<string, unknown>>> = {
    name: `lh_runbook_${shortHash(text)}`,
    text,
    values,
    timeoutMs: defaults.runbookTimeoutMs,
  };
  const rows = await database.transaction(async (tx) => {
    await tx.run({ ...limitSupportQuery, name: `lh_${limitSupportQuery.name}`, values: [] });
    return await tx.run(query);
  }, "ours");
  const columns = entry.columns.map((column) => column.name);
  return { columns, rows: rows.map((row) => plainRow(columns, row)) };
}

/** A user's pool may have parsers that give BigInts, which JSON does not take. */
function plainRow(
  columns: readonly string[],
  row: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = columns.map((column) => {
    const value = row[column];
    return [column, typeof value === "bigint" ? value.toString() : value];
  });
  return Object.freeze(Object.fromEntries(entries));
}

/** A query of the runbook as text for psql, with the real names, and with the values given in its `\set` lines. */
export function runbookSql(
  name: string,
  options: RunbookOptions & { readonly schema?: string } = {},
): string {
  const { schema, ...rest } = options;
  const entry = entryOf(name);
  const examples = Object.fromEntries(entry.parameters.map((one) => [one.name, one.example]));
  const { queue, values } = runbookRequest(name, { ...examples, ...rest });
  const names: Names = { schema: checkSchemaName(schema ?? defaults.schema), queue };
  const lines = entry.parameters.map(
    (one, index) => `\\set ${one.name} ${psqlQuoted(values[index] ?? "")}\n`,
  );
  return lines.join("") + withNames(entry.sql.replace(/^\\set .*\n/gm, ""), names);
}

/** psql reads backslashes in the arguments of its commands, and a command ends with its line. */
function psqlQuoted(value: string): string {
  const escaped = value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `'${escaped.replaceAll("'", "''")}'`;
}
