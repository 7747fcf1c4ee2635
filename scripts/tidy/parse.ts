/** The one file that knows the parser. It is the one inside vitest's bundler; no further dependency is needed. */
import { parseSync } from "rolldown/utils";
import type { TextFile } from "./finding.js";

/** A syntax node. Only `type` and the offsets are always there; the rest depends on the type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

export interface ParsedFile extends TextFile {
  readonly program: Node;
  readonly comments: readonly { readonly value: string; readonly start: number }[];
  readonly error: string | null;
  lineOf(offset: number): number;
}

export function parseFile(file: TextFile): ParsedFile {
  const { program, comments, errors } = parseSync(file.path, file.text);
  const lineStarts = [0, ...[...file.text.matchAll(/\n/g)].map((match) => match.index + 1)];
  return {
    ...file,
    program: program as unknown as Node,
    comments,
    error: errors[0]?.message ?? null,
    lineOf: (offset) => lineNumber(lineStarts, offset),
  };
}

/** How many lines start at or before the offset, by halving. */
function lineNumber(lineStarts: readonly number[], offset: number): number {
  let low = 0;
  let high = lineStarts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lineStarts[middle] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
