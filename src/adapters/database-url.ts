import pg from "pg";
import { InvalidOptionError } from "../errors.js";

const expected = "a PostgreSQL URL such as postgres://user:password@host:5432/database";

/** Checks an address before anything is sent to it; the driver itself takes any text for one. */
export function checkDatabaseUrl(option: string, url: unknown): string {
  if (typeof url !== "string") throw new InvalidOptionError(option, url, expected);
  // What the driver understands: URLs, and the path of a socket.
  if (!/^(postgres(ql)?:\/\/|socket:|\/)/i.test(url))
    throw new InvalidOptionError(option, masked(url), expected);
  const trouble = troubleWith(url);
  if (trouble !== null) throw new InvalidOptionError(option, masked(url), `${expected} (${trouble})`);
  return url;
}

/** What the driver has against it: it parses the address, and reads the files that it names. */
function troubleWith(url: string): string | null {
  const oneHost = "the driver takes one host: give the name or proxy that follows the primary";
  const [authority = ""] = url.replace(/^[a-z]+:\/\//i, "").split(/[/?]/);
  if (authority.replace(/^.*@/s, "").includes(",")) return oneHost;
  try {
    const { host } = new pg.Client({ connectionString: url });
    return host.includes(",") && !host.startsWith("/") ? oneHost : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Without all that comes before an @, also in a text that is no URL. The error masks what else it can tell for a password. */
function masked(url: string): string {
  return url.replace(/^([a-z]+:\/\/)?.*@/is, "$1***@");
}
