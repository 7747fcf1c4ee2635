import { posix } from "node:path";
import type { ParsedFile } from "./parse.js";
import { isNode, walk } from "./walk.js";

/** An import, a re-export or a dynamic import with a fixed text. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** False for `import type` and `export type`, which are gone at run time. */
  readonly isRuntime: boolean;
  /** The file it names, from the root of the repository; null for packages. */
  readonly target: string | null;
}

const IMPORT_TYPES = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

export function importsOf(file: ParsedFile): readonly Import[] {
  return [...walk(file.program)].flatMap(({ node }) => {
    if (!IMPORT_TYPES.has(node.type) || !isNode(node.source)) return [];
    const specifier = node.source.value;
    if (typeof specifier !== "string") return [];
    const isTypeOnly =
      node.importKind === "type" || node.exportKind === "type" || node.type === "TSImportType";
    const line = file.lineOf(node.start);
    return [{ specifier, line, isRuntime: !isTypeOnly, target: resolve(file.path, specifier) }];
  });
}

function resolve(from: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  return posix
    .join(posix.dirname(from), specifier)
    .replace(/\.js$/, ".ts")
    .replace(/\.jsx$/, ".tsx");
}
