import { qualifyServerCalls } from "./server-calls.js";
import { tokenizeSql } from "./sql-tokens.js";
import type { TextFile } from "./statement-blocks.js";

export interface NamedText {
  readonly name: string;
  readonly meaning: string;
}

/** A file of sql/runbook: what its header says, its SQL for psql, and the same as one statement with numbered parameters. */
export interface ParsedRunbookQuery {
  /** Without its folder. */
  readonly file: string;
  readonly name: string;
  readonly title: string;
  readonly when: string;
  readonly read: string;
  readonly next: string;
  readonly index: string;
  readonly columns: readonly NamedText[];
  readonly parameters: readonly (NamedText & { readonly example: string })[];
  readonly sql: string;
  readonly text: string;
}

const SINGLE = ["title", "when", "read", "next", "index"] as const;

/** In the order of the files' numbers. Errors say file and line. */
export function parseRunbook(files: readonly TextFile[]): readonly ParsedRunbookQuery[] {
  return files.map(parseFile);
}

function parseFile(file: TextFile): ParsedRunbookQuery {
  const [, slug] = /(?:^|\/)\d{2}_([a-z][a-z0-9_]*)\.sql$/.exec(file.path) ?? [];
  if (slug === undefined) throw new Error(`${file.path}:1: not a query's name, write it as 01_slug.sql`);
  const lines = file.text.trimEnd().split("\n");
  const headerLines = lines.findIndex((line) => !line.startsWith("--"));
  const items = parseHeader(file.path, lines.slice(0, headerLines));
  const sql = lines.slice(headerLines).join("\n");
  const single = (key: string): string => {
    const value = items.find((item) => item.key === key && item.name === null)?.text;
    if (value === undefined) throw new Error(`${file.path}:1: says no ${key}, add "-- ${key}: ..."`);
    return value;
  };
  const named = (key: string): readonly NamedText[] =>
    items.flatMap((item) =>
      item.key === key && item.name !== null ? [{ name: item.name, meaning: item.text }] : [],
    );
  const columns = named("column");
  if (columns.length === 0)
    throw new Error(`${file.path}:1: names no columns, add "-- column name: meaning"`);
  const examples = examplesOf(sql);
  const parameters = named("parameter").map((parameter) => {
    const example = examples.get(parameter.name);
    if (example === undefined)
      throw new Error(
        `${file.path}: parameter ${parameter.name} has no example, add \\set ${parameter.name}`,
      );
    return { ...parameter, example };
  });
  return {
    file: file.path.slice(file.path.lastIndexOf("/") + 1),
    name: slug.replaceAll("_", "-"),
    title: single("title"),
    when: single("when"),
    read: single("read"),
    next: single("next"),
    index: single("index"),
    columns,
    parameters,
    sql,
    text: statementText(
      file.path,
      sql,
      parameters.map((parameter) => parameter.name),
    ),
  };
}

interface HeaderItem {
  readonly key: string;
  readonly name: string | null;
  text: string;
}

/** `-- key: text`, or `-- column name: text`; a line with three spaces behind the dashes goes on with the one above. */
function parseHeader(path: string, lines: readonly string[]): readonly HeaderItem[] {
  const items: HeaderItem[] = [];
  for (const [index, line] of lines.entries()) {
    const last = items.at(-1);
    if (line.startsWith("--   ") && last !== undefined) {
      last.text += ` ${line.slice(2).trim()}`;
      continue;
    }
    const [, key = "", name, text = ""] = /^-- ([a-z]+)(?: ([a-z_]+))?: (\S.*)$/.exec(line) ?? [];
    const isKnown =
      name === undefined ? SINGLE.some((one) => one === key) : key === "column" || key === "parameter";
    if (!isKnown) {
      throw new Error(
        `${path}:${index + 1}: "${line}" is not a header, write ${SINGLE.join(", ")}, "column name" or "parameter name"`,
      );
    }
    if (items.some((item) => item.key === key && item.name === (name ?? null)))
      throw new Error(`${path}:${index + 1}: ${[key, name].join(" ").trim()} is given twice, keep one`);
    items.push({ key, name: name ?? null, text: text.trim() });
  }
  return items;
}

/** What psql's `\set name 'example'` lines say. */
function examplesOf(sql: string): ReadonlyMap<string, string> {
  const lines = sql.matchAll(/^\\set ([a-z_]+) '([^'\\]*)'$/gm);
  return new Map([...lines].map(([, name = "", example = ""]) => [name, example]));
}

/** One statement for the driver: psql's lines and comments are gone, and its :'name' is a numbered parameter of type text. */
function statementText(path: string, sql: string, parameters: readonly string[]): string {
  const tokens = tokenizeSql(sql.replace(/^\\set .*\n/gm, ""));
  let text = "";
  let isParameter = false;
  for (const token of tokens) {
    if (token.kind === "literal" && isParameter) {
      const number = parameters.indexOf(token.text.slice(1, -1)) + 1;
      if (number === 0) throw new Error(`${path}: :${token.text} is not named by "-- parameter name: ..."`);
      text += `$${number}::text`;
    } else if (token.kind === "literal") text += token.text;
    else if (token.kind === "code") text += qualifyServerCalls(token.text.replace(/(?<!:):$/, ""));
    isParameter = token.kind === "code" && /(?<!:):$/.test(token.text);
  }
  const trimmed = text.replace(/[ \t]+\n/g, "\n").trim();
  if (trimmed.indexOf(";") !== trimmed.length - 1)
    throw new Error(`${path}: a query is one statement that ends with a semicolon`);
  return trimmed.slice(0, -1);
}
