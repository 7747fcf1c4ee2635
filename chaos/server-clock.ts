import { appendFileSync, chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recorderSchema } from "../simulation/engine/recorder.js";
import { type PostgresServer, type StartPostgresOptions, startPostgres } from "../src/embedded.js";
import { schema } from "./settings.js";

/** Debian's package libfaketime. */
const library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
const setting = "chaos.clock_offset_ms";

/** Each entry tells by how much the server's clock was off, so that the history has one time. */
export const offsetSql: string = `alter table ${recorderSchema(schema)}.entries
  add column clock_offset_ms bigint not null default coalesce(current_setting('${setting}', true), '0')::bigint`;

/** The clock of a server that is started here, and of nobody else. Moved only while the server is away, so that each of its sessions has one offset. */
export class ServerClock {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /** Starts a server whose clock can be moved. Throws with a sentence where the library is missing. */
  static async start(
    options: StartPostgresOptions,
    folder: string,
  ): Promise<{ readonly server: PostgresServer; readonly clock: ServerClock }> {
    if (!existsSync(library)) throw new Error(`--clock needs ${library} (apt-get install libfaketime).`);
    const file = join(folder, "clock-offset");
    writeFileSync(file, "+0\n");
    // The server runs as another account.
    chmodSync(folder, 0o755);
    chmodSync(file, 0o644);
    const wanted = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
    // The server keeps the environment of its first start; workers, started later, have the machine's time.
    Object.assign(process.env, wanted);
    try {
      return { server: await startPostgres(options), clock: new ServerClock(file) };
    } finally {
      for (const name of Object.keys(wanted)) delete process.env[name];
    }
  }

  /** From its next start on the server's clock is off by so much. */
  set(server: PostgresServer, offsetMs: number): void {
    writeFileSync(this.#file, `${offsetMs < 0 ? "-" : "+"}${Math.abs(offsetMs) / 1_000}\n`);
    appendFileSync(
      join(server.dataDirectory, "data", "postgresql.auto.conf"),
      `${setting} = '${Math.round(offsetMs)}'\n`,
    );
  }
}
