import { EmbeddedPostgresError } from "../../errors.js";

/** The `postgres` parameters for every setting that stays the same over restarts; the caller's own come last and win. */
export function settingParameters({
  isDurable,
  settings,
}: {
  readonly isDurable: boolean;
  readonly settings: Readonly<Record<string, string>>;
}): string[] {
  for (const name of Object.keys(settings)) checkName(name);
  const all = { ...BASE_SETTINGS, ...(isDurable ? {} : FAST_BUT_NOT_DURABLE), ...settings };
  return Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** The parameters that say where the server listens. There is no socket file: its path may be at most 107 bytes long. */
export function listenParameters(port: number): string[] {
  return ["-c", "listen_addresses=127.0.0.1", "-c", `port=${port}`, "-c", "unix_socket_directories="];
}

const BASE_SETTINGS = { max_connections: "200" } as const;

/** A crash of the machine may lose or break the data. A crash of the server alone loses nothing that was written out. */
const FAST_BUT_NOT_DURABLE = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
} as const;

const FIXED_SETTINGS = ["data_directory", "listen_addresses", "port", "unix_socket_directories"];

function checkName(name: string): void {
  if (FIXED_SETTINGS.includes(name.toLowerCase())) {
    throw new EmbeddedPostgresError(
      `The setting "${name}" is decided by startPostgres; it has an option for the port.`,
    );
  }
  if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) {
    throw new EmbeddedPostgresError(`"${name}" is not the name of a PostgreSQL setting.`);
  }
}
