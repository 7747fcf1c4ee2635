/** Which TypeScript type stands for which SQL type: one table for what goes in, one for what `pg` gives back. */

const PARAMETER_TYPES: ReadonlyMap<string, string> = new Map([
  ["int", "number"],
  ["integer", "number"],
  ["smallint", "number"],
  ["float8", "number"],
  ["double precision", "number"],
  ["numeric", "number"],
  ["bigint", "bigint"],
  ["text", "string"],
  ["uuid", "string"],
  ["boolean", "boolean"],
  ["timestamptz", "Date"],
  // JSON goes in as text: it is the only form that every driver passes through unharmed.
  ["jsonb", "string"],
  ["json", "string"],
  ["interval", "string"],
]);

const ROW_TYPES: ReadonlyMap<string, string> = new Map([
  ["int", "number"],
  ["integer", "number"],
  ["smallint", "number"],
  ["float8", "number"],
  ["double precision", "number"],
  // The driver hands over 64-bit integers and decimals as text, because a number would lose digits.
  ["bigint", "string"],
  ["numeric", "string"],
  ["text", "string"],
  ["uuid", "string"],
  ["boolean", "boolean"],
  ["timestamptz", "Date"],
  ["jsonb", "unknown"],
  ["json", "unknown"],
  ["text[]", "string[]"],
  ["uuid[]", "string[]"],
  ["int[]", "number[]"],
  ["bigint[]", "string[]"],
]);

/** Null for a type that is not in the table. */
export function parameterType(sqlType: string): string | null {
  const element = sqlType.endsWith("[]") ? sqlType.slice(0, -2) : null;
  if (element === null) return PARAMETER_TYPES.get(sqlType) ?? null;
  const elementType = PARAMETER_TYPES.get(element);
  return elementType === undefined ? null : `readonly ${elementType}[]`;
}

/** Null for a type that is not in the table. */
export function rowType(sqlType: string): string | null {
  return ROW_TYPES.get(sqlType) ?? null;
}

/** `lease_expires_at` becomes `leaseExpiresAt`. */
export function camelCase(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
