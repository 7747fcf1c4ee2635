import { rowType } from "./sql-types.js";
import { errorAtLine, type StatementBlock } from "./statement-blocks.js";

/** A name as it stands in TypeScript, and its type there. */
export interface TypedName {
  readonly name: string;
  readonly type: string;
}

/** The columns of the `-- row:` lines; none of them, or `-- row: none`, means that the statement returns nothing. */
export function parseRow(block: StatementBlock): readonly TypedName[] {
  const items = headerItems(block, "row");
  if (items.length === 1 && items[0]?.text === "none") return [];
  const names = new Set<string>();
  return items.map(({ text, line }) => {
    const [, name, sqlType, mark] = /^([a-z_][a-z0-9_]*)\s+(.+?)(\?)?$/.exec(text) ?? [];
    if (name === undefined || sqlType === undefined) {
      throw errorAtLine(block, line, `"${text}" is not a column, write "name type" or "name type?"`);
    }
    const type = rowType(sqlType.replace(/\s+/g, " "));
    if (type === null) {
      throw errorAtLine(block, line, `column ${name} is ${sqlType}, a type without a TypeScript type`);
    }
    if (names.has(name)) throw errorAtLine(block, line, `column ${name} is named twice, remove one`);
    names.add(name);
    return { name, type: mark === undefined || type === "unknown" ? type : `${type} | null` };
  });
}

/** The comma-separated items of `-- key: a, b`; a long list may go on in a second line with the same key. */
export function headerItems(
  block: StatementBlock,
  key: "nullable" | "row",
): readonly { readonly text: string; readonly line: number }[] {
  const prefix = `${key}:`;
  const lines = block.comments.filter((comment) => comment.text.startsWith(prefix));
  return lines.flatMap(({ text, line, isHeader }) => {
    if (!isHeader) throw errorAtLine(block, line, `"-- ${prefix}" stands below the SQL, move it above`);
    const items = text.slice(prefix.length).split(",");
    return items.map((item) => ({ text: item.trim(), line })).filter((item) => item.text !== "");
  });
}
