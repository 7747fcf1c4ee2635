/**
 * Writes a schema as SQL by asking the catalogs, because the embedded server comes without pg_dump. The text is for
 * reading and comparing: it is grouped by kind and sorted by name, so that it depends on nothing but the schema.
 */
import type { ClientBase } from "pg";
import { QUERIES, UNKNOWN } from "./catalog-queries.js";
import { dumpTables } from "./tables.js";

export async function dumpSchema(client: ClientBase, schema: string): Promise<string> {
  await client.query("begin isolation level repeatable read read only");
  try {
    await client.query(FIXED_SESSION);
    await refuseUnknown(client, schema);
    const sections = [
      section("Sequences", await definitions(client, QUERIES.sequences, schema)),
      section("Tables", await dumpTables(client, schema)),
      section("Sequences that belong to a column", await definitions(client, QUERIES.sequenceOwners, schema)),
      section("Indexes", await definitions(client, QUERIES.indexes, schema)),
      section("Views", await definitions(client, QUERIES.views, schema)),
      section("Functions", await definitions(client, QUERIES.functions, schema)),
      section("Triggers", await definitions(client, QUERIES.triggers, schema)),
    ];
    return sections.filter((text) => text !== "").join("\n");
  } finally {
    await client.query("rollback");
  }
}

/** With an empty search path every name carries its schema; the others decide how times in definitions are written. */
const FIXED_SESSION = `select set_config('search_path', '', true), set_config('timezone', 'UTC', true),
  set_config('datestyle', 'ISO, YMD', true), set_config('intervalstyle', 'postgres', true)`;

/** A kind of object that this program cannot write would be missing from the dump without anybody noticing. */
async function refuseUnknown(client: ClientBase, schema: string): Promise<void> {
  const [unknown] = await definitions(client, UNKNOWN, schema);
  if (unknown === undefined) return;
  throw new Error(`${schema} holds ${unknown}, which scripts/dump-schema cannot write: add a query for it`);
}

async function definitions(client: ClientBase, query: string, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ definition: string }>(query, [schema]);
  return rows.map((row) => row.definition.trimEnd());
}

/** Definitions of several lines stand apart, short ones below each other. */
function section(title: string, items: readonly string[]): string {
  if (items.length === 0) return "";
  const separator = items.some((item) => item.includes("\n")) ? "\n\n" : "\n";
  return `-- ${title}\n\n${items.join(separator)}\n`;
}
