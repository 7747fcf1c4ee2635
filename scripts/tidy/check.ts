import { checkCycles } from "./cycles.js";
import { checkDirections } from "./directions.js";
import { checkAny, checkComments, checkTests } from "./escapes.js";
import type { Finding, TextFile } from "./finding.js";
import { checkNames } from "./names.js";
import { checkPackages } from "./packages.js";
import { type ParsedFile, parseFile } from "./parse.js";
import { checkSeams } from "./seams.js";
import { checkExports, checkFileLength, checkFunctions } from "./sizes.js";
import { checkSql } from "./sql.js";

/** Every finding of every rule, in the order of the files given. */
export function checkFiles(files: readonly TextFile[]): readonly Finding[] {
  const parsed = files.filter((file) => /\.tsx?$/.test(file.path)).map(parseFile);
  const findings = [
    ...files.flatMap(checkText),
    ...parsed.flatMap(checkTypeScript),
    ...files.filter((file) => file.path.endsWith(".sql")).flatMap(checkSql),
    ...checkCycles(parsed),
  ];
  const order = new Map(files.map((file, index) => [file.path, index]));
  return findings.sort(
    (left, right) => (order.get(left.path) ?? 0) - (order.get(right.path) ?? 0) || left.line - right.line,
  );
}

function checkText(file: TextFile): readonly Finding[] {
  const isCode = /\.(tsx?|sql)$/.test(file.path);
  return [...checkPackages(file), ...(isCode ? [...checkFileLength(file), ...checkNames(file)] : [])];
}

const RULES = [
  checkFunctions,
  checkExports,
  checkSeams,
  checkDirections,
  checkAny,
  checkComments,
  checkTests,
];

function checkTypeScript(file: ParsedFile): readonly Finding[] {
  if (file.error !== null) return [{ path: file.path, line: 1, message: `does not parse: ${file.error}` }];
  return RULES.flatMap((rule) => rule(file));
}
