import type { ParsedMigration } from "./parse-migrations.js";
import { tokenizeSql } from "./sql-tokens.js";

/** What the migrations create, without the schema's name. Names of a queue's objects begin with the queue's name, and only what follows it is kept. */
export interface ObjectNames {
  readonly schema: { readonly relations: readonly string[]; readonly functions: readonly string[] };
  readonly queue: { readonly relations: readonly string[]; readonly functions: readonly string[] };
}

/** PostgreSQL cuts names after 63 bytes; a queue's name may have 48. */
const ENDING_LENGTH_MAX = 15;

export function objectNames(migrations: readonly ParsedMigration[]): ObjectNames {
  const relations = namesAfter(
    migrations,
    /\bcreate\s+(?:table|(?:unique\s+)?index|sequence|(?:or\s+replace\s+)?view)\s+(?:if\s+not\s+exists\s+)?(?:leasehold\.)?(\w+)/gi,
  );
  const functions = namesAfter(
    migrations,
    /\bcreate\s+(?:or\s+replace\s+)?function\s+(?:leasehold\.)?(\w+)/gi,
  );
  const queue = { relations: endings(relations), functions: endings(functions) };
  for (const ending of [...queue.relations, ...queue.functions]) {
    if (ending.length > ENDING_LENGTH_MAX)
      throw new Error(
        `inbox${ending}: too long behind a queue's name of 48 characters, shorten it by ${ending.length - ENDING_LENGTH_MAX}`,
      );
  }
  return { schema: { relations: others(relations), functions: others(functions) }, queue };
}

function namesAfter(migrations: readonly ParsedMigration[], pattern: RegExp): readonly string[] {
  const code = migrations.map(({ sql }) =>
    tokenizeSql(sql)
      .map((token) => (token.kind === "code" ? token.text : " "))
      .join(""),
  );
  const found = code.flatMap((text) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
  return [...new Set(found)].sort();
}

const isOfQueue = (name: string) => name === "inbox" || name.startsWith("inbox_");
const others = (names: readonly string[]) => names.filter((name) => !isOfQueue(name));
const endings = (names: readonly string[]) =>
  names.filter((name) => isOfQueue(name) && name !== "inbox").map((name) => name.slice("inbox".length));
