import { usageError } from "./failure.js";

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `500ms`, `30s`, `10m`, `2h`, `7d` in milliseconds. A number without a unit is refused: it would be a guess. */
export function durationMs(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)$/.exec(text.trim()) ?? [];
  const size = unit === undefined ? undefined : unitsMs[unit];
  if (text.trim() === "0") return 0;
  if (number === undefined || size === undefined)
    throw usageError(
      `"${text}" is no length of time.`,
      "Write a number and a unit: 500ms, 30s, 10m, 2h, 7d.",
    );
  return Math.round(Number(number) * size);
}

export function wholeNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw usageError(`"${text}" is no whole number.`);
  return Number(text);
}

/** A day, which begins in UTC, or a time with its offset: without one it would depend on where the command runs. */
export function point(text: string): Date {
  const [, day, time, offset] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ]([\d:.]+)(Z|[+-]\d{2}:?\d{2})?)?$/.exec(text) ?? [];
  const at = new Date(text);
  if (day === undefined || Number.isNaN(at.getTime()) || !isDay(day))
    throw usageError(`"${text}" is no time.`, "Write it as 2026-01-31T09:30:00Z.");
  if (time !== undefined && offset === undefined)
    throw usageError(`"${text}" has no time zone.`, `Add Z for UTC, or an offset: ${text}Z, ${text}+02:00.`);
  return at;
}

/** `Date` makes 3 March of 31 February. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

export function json(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(
      `This is no JSON: ${reason}`,
      `Put JSON in single quotes for the shell: '{"order": 9182}'`,
    );
  }
  const changed = numbersIn(text).find((number) => !isExact(number));
  if (changed !== undefined)
    throw usageError(
      `The number ${changed} would be stored as ${Number(changed)}.`,
      `Write it as text: "${changed}"`,
    );
  return value;
}

function numbersIn(text: string): readonly string[] {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  return tokens.filter((token) => !token.startsWith('"'));
}

/** Of two spellings of one number the digits are the same. */
function isExact(number: string): boolean {
  const digits = (spelling: string): string =>
    spelling
      .replace(/e.*$/i, "")
      .replaceAll(/[-.]/g, "")
      .replaceAll(/^0+|0+$/g, "");
  return digits(String(Number(number))) === digits(number);
}

export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  const value = json(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw usageError("This is no JSON object.", `Write an object: '{"order": 9182}'`);
  return value as Record<string, unknown>;
}
