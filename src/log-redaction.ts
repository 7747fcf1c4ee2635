import { defaults } from "./settings.js";

const word = /[^\s"'<>]+/g;
/** A password with spaces in it. Digits alone after the colon are a port. */
const spacedCredentials =
  /:\/\/[^\s"'<>:@/]{0,200}:(?=\S)(?!\d{1,5}(?:[/\s?#,;)]|$))[^"'<>\r\n@]{0,200}@(?:[^\s"'<>]{0,200}@)?/g;
const secretName =
  "pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|private|secret|signing|encryption)[-_]?key|authorization";
/** The name may end a longer one, as in AWS_SECRET_ACCESS_KEY, and quotes may be escaped, as in JSON within JSON. A value that the end of the text cuts off counts to the end. */
const named = new RegExp(
  `(${secretName})(\\\\?["']?\\s*[=:]\\s*)(\\\\"[^"]*(?:"|$)|"[^"\\\\]*(?:\\\\[\\s\\S][^"\\\\]*)*(?:"|$)|'[^']*(?:'|$)|[^\\s,;&]+)`,
  "gi",
);
const schemes = /\b(Bearer|Basic)\s+[\w+/=.~-]+/gi;
/** Any scheme, where the header is named; the scheme itself goes with the name. */
const header = /(authorization\\?["']?\s*[=:]\s*\\?["']?[a-z][\w-]*)[^\S\r\n]+[^\s"',;]+/gi;
const privateKey =
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g;
/** What a handler threw that is no error is written as JSON (outcome.ts), and may be a payload. */
const thrownObject = /\bthrew [[{].*/s;

/** Text without the secrets that can be told by their place: credentials in an address, and what follows `password=` and the like. Cut after that, for a cut can take away what tells a secret. */
export function redactedText(text: string): string {
  return bounded(text)
    .replace(thrownObject, "threw an object (the job's lastError has it)")
    .replace(privateKey, "***")
    .replace(word, withoutCredentials)
    .replace(spacedCredentials, "://***@")
    .replace(schemes, "$1 ***")
    .replace(header, "$1 ***")
    .replace(named, "$1$2***")
    .slice(0, defaults.errorTextMax);
}

/** What is looked at. An @ ends it where it is cut, so that half an address counts as credentials. */
function bounded(text: string): string {
  const most = defaults.errorTextMax * 2;
  return text.length <= most ? text : `${text.slice(0, most)}@`;
}

/** Everything between a scheme and the last @ before a space: a password may have an @ or a / in it. No regular expression, which would try every start. */
function withoutCredentials(part: string): string {
  const from = part.indexOf("://") + 3;
  const to = part.lastIndexOf("@");
  return from < 3 || to < from ? part : `${part.slice(0, from)}***${part.slice(to)}`;
}

/** The fields of an event as plain JSON data: secrets redacted, numbers beyond the safe ones as decimal text, and of an error its words alone, for drivers' errors carry values of rows. */
export function loggableFields(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, loggable(name, value)]));
}

function loggable(name: string, value: unknown): unknown {
  if (typeof value === "string") return redactedText(value);
  if (typeof value === "bigint") return value.toString();
  if (name === "error" && value !== null) return redactedText(wordsOf(value));
  return value;
}

/** As a template literal has it; anything can be thrown. */
function wordsOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "an error that can't be described";
  }
}
