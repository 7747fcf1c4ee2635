import pg from "pg";

/**
 * How the columns of our own statements are read. An application may give `pg` parsers of its own, for all of it or for a pool, so that int8 becomes a
 * number or jsonb stays text; they count for the application's statements only. Every query of ours brings these instead.
 */
export const rowParsers: pg.CustomTypesConfig = Object.freeze({
  getTypeParser: (oid: number, format?: string): ((text: string) => unknown) => {
    if (format === "binary") throw new Error("Leasehold reads text, and the connection sends binary results");
    return byOid.get(oid) ?? asText;
  },
});

/** For a client that we made: `pg.defaults.binary` of the application does not count for it. */
export function asksForText(client: pg.Client): void {
  (client as unknown as { binary: boolean }).binary = false;
}

/** Whether connections of a user's pool get binary results, which no query can undo. */
export function asksForBinary({ options }: { readonly options?: unknown }): boolean {
  return (
    (options as { readonly binary?: boolean } | undefined)?.binary === true || pg.defaults.binary === true
  );
}

const asText = (text: string): string => text;
const asJson = (text: string): unknown => JSON.parse(text);

/** By the type's OID in pg_type, which never changes. What is not here is read as text: text, uuid, int8, numeric. */
const byOid: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"], // bool
  [21, Number], // int2
  [23, Number], // int4
  [26, Number], // oid
  [114, asJson], // json
  [701, Number], // float8
  [1009, parseTextArray], // text[]
  [1184, parseTime], // timestamptz
  [3802, asJson], // jsonb
]);

/** The first and the last time that a Date can hold; PostgreSQL has earlier and later ones, and two infinite ones. */
const timeMsMax = 8_640_000_000_000_000;

const timePattern =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/** Reads the style ISO, which connect() makes sure of. A time that no Date can hold becomes the nearest that it can. */
export function parseTime(text: string): Date {
  if (text === "infinity") return new Date(timeMsMax);
  if (text === "-infinity") return new Date(-timeMsMax);
  const found = timePattern.exec(text);
  if (found === null) throw new Error(`"${text}" is not a time in the style ISO`);
  const number = (n: number): number => Number(found[n] ?? 0);
  const year = found[12] === undefined ? number(1) : 1 - number(1);
  const date = new Date(0);
  date.setUTCFullYear(year, number(2) - 1, number(3));
  date.setUTCHours(number(4), number(5), number(6), Math.trunc(number(7) * 1_000));
  const offsetMs = (number(9) * 3_600 + number(10) * 60 + number(11)) * 1_000;
  const ms = date.getTime() - (found[8] === "-" ? -offsetMs : offsetMs);
  if (Number.isNaN(ms)) return new Date(year < 0 ? -timeMsMax : timeMsMax);
  return new Date(Math.max(-timeMsMax, Math.min(timeMsMax, ms)));
}

/** Quoted elements have a backslash before what would end them; an unquoted NULL is none. */
const elementPattern = /"((?:[^"\\]|\\.)*)"|([^{},]+)/gs;

/** Of one dimension. */
export function parseTextArray(text: string): (string | null)[] {
  return Array.from(text.matchAll(elementPattern), ([, quoted, plain]) => {
    if (quoted !== undefined) return quoted.replace(/\\(.)/gs, "$1");
    return plain === undefined || plain === "NULL" ? null : plain;
  });
}
