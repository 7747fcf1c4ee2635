import pg from "pg";
import { InvalidOptionError } from "../errors.js";

const expected = "a PostgreSQL URL such as postgres://user:password@host:5432/database";

/** Checks an address before anything is sent to it; the driver itself takes any text for one. */
export function checkDatabaseUrl(option: string, url: unknown): string {
  if (typeof url !== "string") throw new InvalidOptionError(option, url, expected);
  // What the driver understands: URLs, and the path of a socket.
  if (!/^(postgres(ql)?:\/\/|socket:|\/)/i.test(url))
    throw new InvalidOptionError(option, withoutPassword(url), expected);
  const trouble = troubleWith(url);
  if (trouble !== null)
    throw new InvalidOptionError(option, withoutPassword(url), `${expected} (${trouble})`);
  return url;
}

/** What the driver has against it: it parses the address, and reads the files that it names. */
function troubleWith(url: string): string | null {
  try {
    new pg.Client({ connectionString: url });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Also of a text that is no URL: all that comes before an @. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/)?.*@/is, "$1***@").replace(/([?&]password=)[^&]*/gi, "$1***");
}
