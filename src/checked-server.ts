import type { readServer } from "./database/statements.generated.js";
import { UnsupportedServerError } from "./errors.js";

export type ServerRow = NonNullable<(typeof readServer)["row"]>;

const oldestServer = 14;

/** Refuses a server, or settings of its role or database, under which some call would fail later or answer wrongly. Each reason names the setting. */
export function checkServer(
  server: ServerRow | undefined,
  { isForReads = false }: { readonly isForReads?: boolean } = {},
): void {
  const version = server?.version ?? 0;
  if (server === undefined || version < oldestServer * 10_000)
    throw new UnsupportedServerError(
      `it is PostgreSQL ${Math.floor(version / 10_000)}, Leasehold needs ${oldestServer} or newer`,
    );
  const reason = troubleWith(isForReads ? { ...server, read_only: false } : server);
  if (reason !== null) throw new UnsupportedServerError(reason);
}

function troubleWith({ datestyle, read_only, encoding, float_digits, path }: ServerRow): string | null {
  if (!datestyle.startsWith("ISO"))
    return `its datestyle is ${datestyle}, which the driver can't read (${advice("datestyle", "'ISO'")})`;
  if (read_only)
    return `its default_transaction_read_only is on, so nothing can be written (${advice("default_transaction_read_only", "off")})`;
  if (encoding !== "UTF8")
    return `its client_encoding is ${encoding}, and the driver speaks UTF8 (leave client_encoding as the driver sets it)`;
  if (float_digits < 0)
    return `its extra_float_digits is ${float_digits}, which rounds times (${advice("extra_float_digits", "1")})`;
  const hidden = path.slice(0, path.indexOf("pg_catalog")).filter((name) => !name.startsWith("pg_temp"));
  if (hidden.length > 0)
    return `its search_path has ${hidden.join(", ")} before pg_catalog, which can hide functions of the server (leave pg_catalog out of it: it is first then)`;
  return null;
}

function advice(setting: string, value: string): string {
  return `alter role ... set ${setting} to ${value}`;
}
