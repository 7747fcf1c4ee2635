/** What only src/adapters may touch: the driver, timers, the time of day, chance, the process and the console. */
import type { Finding } from "./finding.js";
import { importsOf } from "./imports.js";
import type { ParsedFile } from "./parse.js";
import { identifierName, type Visit, walk } from "./walk.js";

const CLOCK = "take the clock of src/seams/clock.ts";
const RANDOM = "take the random source of src/seams/random.ts";
const ADAPTER = "put it behind a seam and implement it in src/adapters";
const SETTINGS = "take the value as a setting; src/adapters reads the environment";
const EVENTS = "emit an event of src/events.ts; a subscriber writes the log";
const PEER = "the package is optional, take what the user hands over";
const DATABASE = "take the database of src/seams/database.ts";

const MODULES: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/^pg($|\/)/, DATABASE],
  [/^(node:)?timers($|\/)/, CLOCK],
  [/^(node:)?perf_hooks$/, CLOCK],
  [/^(node:)?crypto$/, RANDOM],
  [/^(node:)?process$/, SETTINGS],
  [/^(node:)?console$/, EVENTS],
  [/^(node:)?(os|child_process|net)$/, ADAPTER],
  [/^(node:)?fs($|\/)/, ADAPTER],
  [/^(@opentelemetry\/|prom-client$|pino$)/, PEER],
];

const GLOBALS: ReadonlyMap<string, string> = new Map([
  ["setTimeout", CLOCK],
  ["setInterval", CLOCK],
  ["setImmediate", CLOCK],
  ["performance", CLOCK],
  ["randomUUID", RANDOM],
  ["process", SETTINGS],
  ["console", EVENTS],
  ["globalThis", "name what you need from it as a seam"],
]);

const MEMBERS: ReadonlyMap<string, string> = new Map([
  ["Date.now", CLOCK],
  ["Math.random", RANDOM],
  ["crypto.randomUUID", RANDOM],
  ["crypto.getRandomValues", RANDOM],
]);

export function checkSeams(file: ParsedFile): readonly Finding[] {
  if (!file.path.startsWith("src/") || file.path.startsWith("src/adapters/")) return [];
  const modules = importsOf(file).flatMap(({ specifier, line }) => {
    const instead = MODULES.find(([pattern]) => pattern.test(specifier))?.[1];
    return instead === undefined ? [] : [finding(file.path, line, `imports ${specifier}`, instead)];
  });
  const uses = [...walk(file.program)].flatMap((visit) => {
    const banned = bannedUse(visit);
    if (banned === null) return [];
    return [finding(file.path, file.lineOf(visit.node.start), `uses ${banned.what}`, banned.instead)];
  });
  return [...modules, ...uses];
}

function finding(path: string, line: number, what: string, instead: string): Finding {
  return { path, line, message: `${what}, which only src/adapters may: ${instead}` };
}

function bannedUse(visit: Visit): { readonly what: string; readonly instead: string } | null {
  const { node } = visit;
  if (node.type === "MemberExpression") {
    const what = `${identifierName(node.object) ?? ""}.${identifierName(node.property) ?? ""}`;
    const instead = MEMBERS.get(what);
    return instead === undefined ? null : { what, instead };
  }
  const isDateCall = node.type === "NewExpression" || node.type === "CallExpression";
  if (isDateCall && identifierName(node.callee) === "Date" && isEmpty(node.arguments)) {
    return { what: "the time of day by Date()", instead: CLOCK };
  }
  const name = identifierName(node);
  const instead = name === null ? undefined : GLOBALS.get(name);
  return name === null || instead === undefined || !isReference(visit) ? null : { what: name, instead };
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

const NAMING_KEYS = new Set(["id", "label", "local", "imported", "exported", "params"]);

/** Whether the identifier stands for a value, and is not the name of a property, a parameter or a declaration. */
function isReference({ parent, key }: Visit): boolean {
  if (parent === null || NAMING_KEYS.has(key)) return false;
  const isPlainProperty = key === "property" || key === "key";
  return !(isPlainProperty && parent.computed !== true);
}
