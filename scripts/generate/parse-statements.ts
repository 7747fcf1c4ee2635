import { qualifyServerCalls } from "./server-calls.js";
import {
  errorAtLine,
  errorAtOffset,
  type StatementBlock,
  splitBlocks,
  type TextFile,
} from "./statement-blocks.js";
import { parseRow, type TypedName } from "./statement-header.js";
import { numberParameters, typedParameters } from "./statement-parameters.js";

export interface ParsedStatement {
  readonly path: string;
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly TypedName[];
  readonly columns: readonly TypedName[];
}

/** All statements of all files, in the order given. Errors say file and line. */
export function parseStatements(files: readonly TextFile[]): readonly ParsedStatement[] {
  const seen = new Map<string, string>();
  return files.flatMap(splitBlocks).map((block) => {
    const place = `${block.file.path}:${block.line}`;
    const earlier = seen.get(block.name);
    if (earlier !== undefined) {
      throw new Error(`${place}: ${block.name} is already defined at ${earlier}, choose another name`);
    }
    seen.set(block.name, place);
    return parseBlock(block);
  });
}

function parseBlock(block: StatementBlock): ParsedStatement {
  const casts = new Map<string, string | null>();
  const pieces = block.tokens.map((token) => {
    if (token.kind === "literal") return { isCode: false, text: token.text };
    if (token.kind === "line-comment") return { isCode: true, text: "" };
    // A comment separates words, so it leaves a space behind.
    if (token.kind === "block-comment") return { isCode: true, text: " " };
    return { isCode: true, text: qualifyServerCalls(numberParameters(block, token, casts)) };
  });
  const text = oneStatement(block, joinPieces(pieces));
  if (text === "") {
    throw errorAtLine(block, block.line, "has no SQL, write the statement below its comment");
  }
  return {
    path: block.file.path,
    name: block.name,
    text,
    parameters: typedParameters(block, casts),
    columns: parseRow(block),
  };
}

/** Joins the pieces and drops the empty lines that comments leave behind, but touches nothing inside a literal. */
function joinPieces(pieces: readonly { readonly isCode: boolean; readonly text: string }[]): string {
  const runs: { isCode: boolean; text: string }[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last?.isCode && piece.isCode) last.text += piece.text;
    else runs.push({ ...piece });
  }
  const tidied = runs.map(({ isCode, text }) =>
    isCode ? text.replace(/[ \t]+\n/g, "\n").replace(/\n{2,}/g, "\n") : text,
  );
  return tidied.join("").trim();
}

/** A prepared statement holds one command, so only the last character may be a semicolon. */
function oneStatement(block: StatementBlock, text: string): string {
  const semicolons = block.tokens.flatMap((token) =>
    token.kind === "code" ? [...token.text.matchAll(/;/g)].map((match) => token.start + match.index) : [],
  );
  const [first] = semicolons;
  if (first === undefined) return text;
  if (semicolons.length > 1 || !text.endsWith(";")) {
    throw errorAtOffset(block, first, "more than one statement in a block, give each its own name");
  }
  return text.slice(0, -1).trimEnd();
}
