import { lineAt, type SqlToken, tokenizeSql } from "./sql-tokens.js";

/** A text file, with its path from the root of the repository. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A comment line without its dashes; `isHeader` when it stands above the SQL. */
export interface BlockComment {
  readonly text: string;
  readonly line: number;
  readonly isHeader: boolean;
}

/** One named block of a statement file: from its `-- name:` line to the next one. */
export interface StatementBlock {
  readonly file: TextFile;
  readonly name: string;
  readonly line: number;
  readonly comments: readonly BlockComment[];
  /** What follows the name line, comments included. */
  readonly tokens: readonly SqlToken[];
}

/** Text before the first block is the file's own comment; SQL there is a mistake. */
export function splitBlocks(file: TextFile): readonly StatementBlock[] {
  const tokens = tokenize(file);
  const starts = tokens.flatMap((token, index) => (isNameLine(file.text, token) ? [index] : []));
  const strayCode = tokens.slice(0, starts[0] ?? tokens.length).find(isSql);
  if (strayCode !== undefined) {
    const offset = strayCode.start + strayCode.text.search(/\S/);
    throw new Error(
      `${file.path}:${lineAt(file.text, offset)}: SQL outside a block, put a "-- name:" line above it`,
    );
  }
  return starts.map((start, index) => toBlock(file, tokens.slice(start, starts[index + 1])));
}

function tokenize(file: TextFile): readonly SqlToken[] {
  try {
    return tokenizeSql(file.text);
  } catch (error) {
    throw new Error(`${file.path}:${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function isNameLine(text: string, token: SqlToken): boolean {
  const isAtLineStart = token.start === 0 || text[token.start - 1] === "\n";
  return isAtLineStart && token.kind === "line-comment" && /^--\s*name:/.test(token.text);
}

function isSql(token: SqlToken): boolean {
  return token.kind === "literal" || (token.kind === "code" && token.text.trim() !== "");
}

function toBlock(file: TextFile, tokens: readonly SqlToken[]): StatementBlock {
  const [nameLine, ...rest] = tokens;
  if (nameLine === undefined) throw new Error(`${file.path}: a block without a name line`);
  const line = lineAt(file.text, nameLine.start);
  const name = nameLine.text.replace(/^--\s*name:/, "").trim();
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    throw new Error(
      `${file.path}:${line}: "${name}" is not a statement name, write it as verb_noun in lower case`,
    );
  }
  const firstSql = rest.find(isSql)?.start ?? Number.POSITIVE_INFINITY;
  const comments = rest
    .filter((token) => token.kind === "line-comment")
    .map((token) => ({
      text: token.text.replace(/^-+\s?/, "").trim(),
      line: lineAt(file.text, token.start),
      isHeader: token.start < firstSql,
    }));
  return { file, name, line, comments, tokens: rest };
}

export function errorAtOffset(block: StatementBlock, offset: number, message: string): Error {
  return errorAtLine(block, lineAt(block.file.text, offset), message);
}

export function errorAtLine(block: StatementBlock, line: number, message: string): Error {
  return new Error(`${block.file.path}:${line}: ${block.name}: ${message}`);
}
