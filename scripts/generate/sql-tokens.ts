/**
 * Cuts SQL text into code, literals and comments, by the lexical rules of PostgreSQL, so that a colon or a dash inside
 * a string is never taken for a parameter or a comment. Joining the texts of all tokens gives the input back.
 */

export type SqlTokenKind = "code" | "literal" | "line-comment" | "block-comment";

export interface SqlToken {
  readonly kind: SqlTokenKind;
  readonly text: string;
  /** Offset of the first character in the input. */
  readonly start: number;
}

/** Throws an Error with the line as prefix ("12: ...") when a literal or a comment is not closed. */
export function tokenizeSql(text: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  let codeStart = 0;
  let at = 0;
  while (at < text.length) {
    const special = specialAt(text, at);
    if (special === null) {
      at += 1;
      continue;
    }
    if (at > codeStart) tokens.push({ kind: "code", text: text.slice(codeStart, at), start: codeStart });
    tokens.push({ kind: special.kind, text: text.slice(at, special.end), start: at });
    at = special.end;
    codeStart = at;
  }
  if (at > codeStart) tokens.push({ kind: "code", text: text.slice(codeStart), start: codeStart });
  return tokens;
}

/** The line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

interface Special {
  readonly kind: Exclude<SqlTokenKind, "code">;
  readonly end: number;
}

function specialAt(text: string, at: number): Special | null {
  switch (text[at]) {
    case "-":
      return text[at + 1] === "-" ? { kind: "line-comment", end: endOfLine(text, at) } : null;
    case "/":
      return text[at + 1] === "*" ? { kind: "block-comment", end: endOfBlockComment(text, at) } : null;
    case "'":
      return { kind: "literal", end: endOfQuoted(text, at, hasEscapePrefix(text, at)) };
    case '"':
      return { kind: "literal", end: endOfQuoted(text, at, false) };
    case "$":
      return dollarQuotedAt(text, at);
    default:
      return null;
  }
}

function endOfLine(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline;
}

/** Block comments nest in PostgreSQL, unlike in C. */
function endOfBlockComment(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    if (pair === "/*") depth += 1;
    if (pair === "*/") depth -= 1;
    if (pair === "/*" || pair === "*/") at += 1;
    if (depth === 0) return at + 1;
  }
  throw new Error(`${lineAt(text, start)}: the comment that begins here is not closed, add */`);
}

/** A doubled quote stays inside; a backslash protects the next character only in E'...' strings. */
function endOfQuoted(text: string, start: number, hasBackslashEscapes: boolean): number {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (hasBackslashEscapes && text[at] === "\\") at += 1;
    else if (text[at] === quote && text[at + 1] === quote) at += 1;
    else if (text[at] === quote) return at + 1;
  }
  throw new Error(`${lineAt(text, start)}: the text that begins here is not closed, add ${quote}`);
}

function hasEscapePrefix(text: string, at: number): boolean {
  return /(?:^|[^\w$])[eE]$/.test(text.slice(Math.max(0, at - 2), at));
}

function dollarQuotedAt(text: string, at: number): Special | null {
  if (at > 0 && /[\w$]/.test(text[at - 1] ?? "")) return null;
  const tag = /^\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$/.exec(text.slice(at, at + 66))?.[0];
  if (tag === undefined) return null;
  const close = text.indexOf(tag, at + tag.length);
  if (close === -1)
    throw new Error(`${lineAt(text, at)}: the text that begins here is not closed, add ${tag}`);
  return { kind: "literal", end: close + tag.length };
}
