import { InvalidPayloadError, LeaseholdError, PayloadTooLargeError } from "../errors.js";
import { defaults } from "../settings.js";

/**
 * JSON text for a value that comes back from the database equal, or a clear error before any SQL. JSON.stringify alone drops,
 * rounds or renames a dozen things silently; PostgreSQL refuses NUL and lone surrogates in jsonb. Properties whose value is
 * undefined are left out, as TypeScript's optional properties expect.
 */
export function toJson(what: string, value: unknown, limitBytes: number): string {
  const text = jsonOf(what, value, limitBytes);
  const bytes = Buffer.byteLength(text);
  if (bytes > limitBytes) throw new PayloadTooLargeError(what, bytes, limitBytes);
  return text;
}

/** Getters and proxies may throw anything while they are looked at. */
function jsonOf(what: string, value: unknown, limitBytes: number): string {
  try {
    check(value, { path: what, above: [], budget: { left: limitBytes, limitBytes } });
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof LeaseholdError) throw error;
    const refusal = new InvalidPayloadError(what, "it throws when it is read");
    refusal.cause = error;
    throw refusal;
  }
}

/** True for text that PostgreSQL can store: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes("\u0000") && text.isWellFormed();
}

/** For what is written about a failure: the same characters are replaced, never rejected. Cut here and not by the caller: a cut may leave half of a surrogate pair. */
export function storableText(text: string, lengthMax: number = defaults.errorTextMax): string {
  return text.slice(0, lengthMax).toWellFormed().replaceAll("\u0000", "\ufffd");
}

/** Where a value is, what contains it, and how many values may still come: each has at least one byte of the limit. */
interface Place {
  readonly path: string;
  readonly above: readonly object[];
  readonly budget: { left: number; readonly limitBytes: number };
}

function check(value: unknown, place: Place): void {
  const { path, budget } = place;
  budget.left -= 1;
  if (budget.left < 0) throw new PayloadTooLargeError(path, `over ${budget.limitBytes}`, budget.limitBytes);
  switch (typeof value) {
    case "string":
      if (!isStorableText(value))
        throw new InvalidPayloadError(path, "the text has a NUL character or a lone surrogate");
      return;
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) throw new InvalidPayloadError(path, `${value} is not a JSON number`);
      return;
    case "object":
      if (value !== null) checkObject(value, place);
      return;
    case "bigint":
      throw new InvalidPayloadError(path, "a BigInt is not JSON; pass it as text");
    default:
      throw new InvalidPayloadError(path, `${typeof value} is not JSON`);
  }
}

function checkObject(value: object, { path, above, budget }: Place): void {
  if (above.includes(value)) throw new InvalidPayloadError(path, "it contains itself");
  if (above.length >= defaults.payloadDepthMax) {
    throw new InvalidPayloadError(path, `it is nested deeper than ${defaults.payloadDepthMax} levels`);
  }
  if (!isPlain(value)) {
    throw new InvalidPayloadError(
      path,
      `a ${nameOf(value)} comes back as something else; convert it to plain JSON first`,
    );
  }
  const chain = [...above, value];
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) check(value[i], { path: `${path}[${i}]`, above: chain, budget });
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (!isStorableText(key))
      throw new InvalidPayloadError(path, "a property name has a NUL character or a lone surrogate");
    if (item !== undefined) check(item, { path: `${path}.${key}`, above: chain, budget });
  }
}

/** An array with nothing but its items, or an object with nothing but its own enumerable properties, of this realm or another. */
function isPlain(value: object): boolean {
  if ("toJSON" in value && typeof value.toJSON === "function") return false;
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  if (Array.isArray(value))
    return Object.keys(value).length <= value.length && Object.keys(value).every((key) => /^\d+$/.test(key));
  if (Symbol.toStringTag in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf"))
  );
}

function nameOf(value: object): string {
  const maker: unknown = value.constructor;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "class instance";
}
