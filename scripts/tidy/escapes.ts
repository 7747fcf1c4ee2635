/** Ways round the compiler, the linter and the tests: `any`, silenced errors, put-off work, tests that do not run. */
import type { Finding } from "./finding.js";
import type { Node, ParsedFile } from "./parse.js";
import { calleePath, identifierName, isNode, walk } from "./walk.js";

const REASON_LENGTH_MIN = 10;

export function checkAny(file: ParsedFile): readonly Finding[] {
  return [...walk(file.program)]
    .filter(({ node }) => node.type === "TSAnyKeyword")
    .map(({ node }) => ({
      path: file.path,
      line: file.lineOf(node.start),
      message: "type any, write the type, or unknown and narrow it",
    }));
}

/** The put-off marks are spelled in two halves here, so that this file does not find itself. */
const MARKS = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"].join("|")})\\b`);

export function checkComments(file: ParsedFile): readonly Finding[] {
  return file.comments.flatMap(({ value, start }) => {
    const message = commentComplaint(value);
    return message === null ? [] : [{ path: file.path, line: file.lineOf(start), message }];
  });
}

/** What is wrong with the text of a comment, in TypeScript or SQL; null if nothing. */
export function commentComplaint(comment: string): string | null {
  const mark = MARKS.exec(comment)?.[1];
  if (mark !== undefined) return `${mark} in a comment, do it now or open an issue`;
  if (/^\s*[/*]*\s*@ts-(ignore|nocheck)\b/.test(comment)) {
    return "silences the compiler for good, fix the type or use @ts-expect-error with a reason";
  }
  const silenced =
    /^\s*[/*]*\s*@ts-expect-error\b:?(.*)/s.exec(comment) ??
    /^\s*biome-ignore[^:]*(?::(.*))?$/s.exec(comment) ??
    /^\s*eslint-disable(?:(?!--).)*(?:--(.*))?$/s.exec(comment);
  if (silenced === null || isReason(silenced[1] ?? "")) return null;
  return "silences a check without a reason, fix the code or say why on the same line";
}

/** The linter offers a placeholder when it writes a suppression; that is no reason yet. */
function isReason(text: string): boolean {
  return text.trim().length >= REASON_LENGTH_MIN && text.trim() !== "<explanation>";
}

const RUNNERS = new Set(["describe", "suite", "it", "test", "bench"]);
const SHORTCUTS = new Set(["only", "skip", "todo"]);

export function checkTests(file: ParsedFile): readonly Finding[] {
  if (!/\.test\.tsx?$/.test(file.path)) return [];
  return [...walk(file.program)].flatMap(({ node, parent }) => {
    const shortcut = node.type === "MemberExpression" ? identifierName(node.property) : null;
    if (shortcut === null || !SHORTCUTS.has(shortcut) || isReasonedSkip(node, parent)) return [];
    const isRunner = RUNNERS.has(calleePath(node)[0] ?? "");
    const isCalled = parent?.type === "CallExpression" && parent.callee === node;
    if (!isRunner && !isCalled) return [];
    return [
      {
        path: file.path,
        line: file.lineOf(node.start),
        message: TEST_COMPLAINTS[shortcut === "only" ? 0 : 1],
      },
    ];
  });
}

const TEST_COMPLAINTS = [
  ".only leaves the other tests out, remove it",
  "hides a test, use skipIf(condition) with meta: { skipReason } or context.skip(condition, reason)",
] as const;

/** `context.skip(condition, "reason")` is decided at run time and tells its reason to the reporter. */
function isReasonedSkip(member: Node, parent: Node | null): boolean {
  if (RUNNERS.has(calleePath(member)[0] ?? "") || parent?.type !== "CallExpression") return false;
  const reason = Array.isArray(parent.arguments) ? parent.arguments.at(1) : undefined;
  return isNode(reason) && (reason.type === "TemplateLiteral" || typeof reason.value === "string");
}
