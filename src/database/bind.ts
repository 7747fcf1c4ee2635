import type { Query, Statement } from "../seams/database.js";
import { type Names, withNames } from "./names.js";

/** Turns statements into queries for one schema and queue. The text of each is made once. */
export type Binder = <P, R>(statement: Statement<P, R>, parameters: P) => Query<R>;

export function binder(names: Names): Binder {
  const bound = new Map<string, Pick<Query<unknown>, "name" | "text" | "place">>();
  const places = { schema: { schema: names.schema, queue: null }, queue: names };
  return (statement, parameters) => {
    let query = bound.get(statement.name);
    if (query === undefined) {
      // The text is in the name: behind a pooler, two versions of the library may share a server connection.
      const text = withNames(statement.text, names);
      const place = /\binbox/.test(statement.text) ? places.queue : places.schema;
      query = { name: `lh_${statement.name}_${shortHash(text)}`, text, place };
      bound.set(statement.name, query);
    }
    return { ...query, values: statement.parameters.map((name) => sqlValue(parameters[name])) };
  };
}

function sqlValue(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(sqlValue);
  return value;
}

/** Eight hex digits (FNV-1a): tells texts apart in names and checksums; nothing depends on it being secret or even. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
