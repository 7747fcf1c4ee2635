/** Rules for the SQL under sql/. */
import { lineAt, type SqlToken, tokenizeSql } from "../generate/sql-tokens.js";
import { type StatementBlock, splitBlocks } from "../generate/statement-blocks.js";
import { commentComplaint } from "./escapes.js";
import type { Finding, TextFile } from "./finding.js";

const SQL_FUNCTION_LINES_MAX = 120;

export function checkSql(file: TextFile): readonly Finding[] {
  let tokens: readonly SqlToken[];
  try {
    tokens = tokenizeSql(file.text);
  } catch (error) {
    const message = `does not parse, line ${error instanceof Error ? error.message : String(error)}`;
    return [{ path: file.path, line: 1, message }];
  }
  const isStatements = file.path.startsWith("sql/statements/");
  return [
    ...checkSqlFunctions(file, tokens),
    ...checkSqlComments(file, tokens),
    ...(isStatements ? [...checkChance(file, tokens), ...checkLockComments(file)] : []),
  ];
}

/** The body of a function is the first literal after its `create function`, or all up to the next semicolon. */
function checkSqlFunctions(file: TextFile, tokens: readonly SqlToken[]): readonly Finding[] {
  if (file.path === "sql/schema.sql") return [];
  const code = tokens
    .map((token) => (token.kind === "code" ? token.text : token.text.replace(/[^\n]/g, " ")))
    .join("");
  const starts = code.matchAll(/\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\s+([\w.]+)/gi);
  return [...starts].flatMap((match) => {
    const semicolon = code.indexOf(";", match.index);
    const first = lineAt(file.text, match.index);
    const lines = lineAt(file.text, semicolon === -1 ? file.text.length : semicolon) - first + 1;
    if (lines <= SQL_FUNCTION_LINES_MAX) return [];
    const message = `${match[1]} has ${lines} lines (at most ${SQL_FUNCTION_LINES_MAX}), move its steps into functions`;
    return [{ path: file.path, line: first, message }];
  });
}

function checkSqlComments(file: TextFile, tokens: readonly SqlToken[]): readonly Finding[] {
  return commentsOf(tokens).flatMap((token) => {
    const message = commentComplaint(token.text.replace(/^--|^\/\*/, ""));
    return message === null ? [] : [{ path: file.path, line: lineAt(file.text, token.start), message }];
  });
}

/** Comments, also those in the body of a function, which is a literal for the statement around it. */
function commentsOf(tokens: readonly SqlToken[]): readonly SqlToken[] {
  return tokens.flatMap((token) => {
    if (token.kind === "code") return [];
    if (token.kind !== "literal") return [token];
    const tag = /^\$\w*\$/.exec(token.text)?.[0];
    if (tag === undefined) return [];
    const start = token.start + tag.length;
    const inner = tokenizeOrNothing(token.text.slice(tag.length, -tag.length));
    return commentsOf(inner.map((part) => ({ ...part, start: part.start + start })));
  });
}

/** Dollar-quoted text need not be SQL; what does not parse has no comments. */
function tokenizeOrNothing(text: string): readonly SqlToken[] {
  try {
    return tokenizeSql(text);
  } catch {
    return [];
  }
}

function checkChance(file: TextFile, tokens: readonly SqlToken[]): readonly Finding[] {
  return tokens.flatMap((token) => {
    if (token.kind !== "code") return [];
    return [...token.text.matchAll(/\b(random|gen_random_uuid)\s*\(/gi)].map((match) => ({
      path: file.path,
      line: lineAt(file.text, token.start + match.index),
      message: `${match[1]}() in a statement cannot be replayed, take the value as a parameter`,
    }));
  });
}

function checkLockComments(file: TextFile): readonly Finding[] {
  return blocksOrNothing(file)
    .filter((block) => !block.comments.some((comment) => /\block/i.test(comment.text)))
    .map(({ name, line }) => ({
      path: file.path,
      line,
      message: `${name} does not say what it locks, add "-- Locks ..." with the order and the index`,
    }));
}

/** A file that has no proper blocks is reported by generate --check, with the line. */
function blocksOrNothing(file: TextFile): readonly StatementBlock[] {
  try {
    return splitBlocks(file);
  } catch {
    return [];
  }
}
