/** Budgets: lines of a file, lines and parameters of a function, exports of a file. */
import type { Finding, TextFile } from "./finding.js";
import type { Node, ParsedFile } from "./parse.js";
import { calleePath, identifierName, isNode, type Visit, walk } from "./walk.js";

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const PARAMETERS_MAX = 4;
const EXPORTS_MAX = 6;

const FUNCTION_TYPES = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

export function checkFileLength(file: TextFile): readonly Finding[] {
  if (file.path.endsWith(".generated.ts") || file.path === "sql/schema.sql") return [];
  const lines = file.text.replace(/\n$/, "").split("\n").length;
  if (lines <= FILE_LINES_MAX) return [];
  const message = `${lines} lines (at most ${FILE_LINES_MAX}), split the file by what its parts do`;
  return [{ path: file.path, line: FILE_LINES_MAX + 1, message }];
}

export function checkFunctions(file: ParsedFile): readonly Finding[] {
  const findings: Finding[] = [];
  for (const visit of walk(file.program)) {
    const { node } = visit;
    if (!FUNCTION_TYPES.has(node.type)) continue;
    const line = file.lineOf(node.start);
    const lines = file.lineOf(node.end) - line + 1;
    const name = functionName(visit);
    if (lines > FUNCTION_LINES_MAX && !isDescribeCallback(visit)) {
      const message = `${name} has ${lines} lines (at most ${FUNCTION_LINES_MAX}), move its steps into functions`;
      findings.push({ path: file.path, line, message });
    }
    const parameters = countParameters(node);
    if (parameters > PARAMETERS_MAX) {
      const message = `${name} has ${parameters} parameters (at most ${PARAMETERS_MAX}), take an options object`;
      findings.push({ path: file.path, line, message });
    }
  }
  return findings;
}

/** The own name of a function, or that of the variable, property or method it is given to. */
function functionName({ node, parent }: Visit): string {
  const holder = parent === null ? null : (identifierName(parent.id) ?? identifierName(parent.key));
  return identifierName(node.id) ?? holder ?? "function";
}

/** A describe block only groups tests; each test in it is counted by itself. */
function isDescribeCallback({ parent, key }: Visit): boolean {
  if (parent?.type !== "CallExpression" || key !== "arguments") return false;
  return ["describe", "suite"].includes(calleePath(parent.callee)[0] ?? "");
}

function countParameters(node: Node): number {
  const parameters = Array.isArray(node.params) ? node.params : [];
  return parameters.filter((parameter) => identifierName(parameter) !== "this").length;
}

const EXPORTS_UNLIMITED =
  /(^|\/)(errors|events|index|settings)\.ts$|\.generated\.ts$|^src\/(seams\/|(tenants|metrics|opentelemetry|tuning)\.ts$)/;

export function checkExports(file: ParsedFile): readonly Finding[] {
  if (EXPORTS_UNLIMITED.test(file.path)) return [];
  const body = Array.isArray(file.program.body) ? file.program.body.filter(isNode) : [];
  const names = new Set(body.flatMap(exportedNames));
  if (names.size <= EXPORTS_MAX) return [];
  const message = `${names.size} exports (at most ${EXPORTS_MAX}), split the file or keep some names private`;
  return [{ path: file.path, line: 1, message }];
}

function exportedNames(statement: Node): readonly string[] {
  if (statement.type === "ExportDefaultDeclaration") return ["default"];
  if (statement.type === "ExportAllDeclaration") return [`* at ${statement.start}`];
  if (statement.type !== "ExportNamedDeclaration") return [];
  const { declaration, specifiers } = statement;
  const listed = Array.isArray(specifiers) ? specifiers.filter(isNode) : [];
  if (!isNode(declaration)) return listed.map((specifier) => identifierName(specifier.exported) ?? "default");
  const declared = Array.isArray(declaration.declarations) ? declaration.declarations : [declaration];
  return declared.filter(isNode).map((item) => identifierName(item.id) ?? `pattern at ${item.start}`);
}
