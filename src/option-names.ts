import { InvalidOptionError } from "./errors.js";
import { nearestName } from "./nearest-name.js";
import { asObject } from "./settings.js";

/** Every name that an options object may have. The type makes sure that none is left out. */
export type OptionNames<T> = Readonly<Record<keyof T & string, true>>;

export function namesOf<N extends string>(names: readonly N[]): Readonly<Record<N, true>> {
  return Object.freeze(Object.fromEntries(names.map((name) => [name, true]))) as Readonly<Record<N, true>>;
}

/**
 * Options as an object in which every name is known: a misspelled option would be ignored in silence. `where` says whose options they are. An instance of a class
 * may have fields of its own, so only plain objects are checked by name.
 */
export function withKnownNames<T extends object>(
  where: string,
  options: T,
  names: OptionNames<NoInfer<T>>,
): T {
  asObject("options", options);
  if (!isPlain(options)) return options;
  for (const name of Object.keys(options))
    if (!Object.hasOwn(names, name)) refuse(where, options, name, names);
  return options;
}

/** What other libraries call it. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ...["connectionString", "databaseUrl", "uri", "dsn", "connection"].map((name) => [name, "url"] as const),
  ...["host", "port", "user", "password", "database"].map((name) => [name, "url"] as const),
]);

function refuse(where: string, options: object, name: string, names: object): never {
  const known = Object.keys(names);
  const other = otherNames.get(name) ?? "";
  const nearest = known.includes(other) ? other : nearestName(name, known);
  const advice = nearest === null ? `it has ${known.join(", ")}` : `did you mean ${nearest}?`;
  const given = (options as Readonly<Record<string, unknown>>)[name];
  const value = /pass|pwd|secret/i.test(name) && typeof given === "string" ? "***" : given;
  throw new InvalidOptionError(name, value, `left out: ${where} has no option of this name (${advice})`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
