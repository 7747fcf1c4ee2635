import { startPostgres } from "../../src/embedded.js";

export interface DemoDatabase {
  readonly url: string;
  /** What it is, in a few words. */
  readonly words: string;
  stop(): Promise<void>;
}

/** The database of DATABASE_URL, or else a PostgreSQL of our own, whose data stay for the next time. */
export async function openDatabase(say: (line: string) => void): Promise<DemoDatabase> {
  const { DATABASE_URL: given, LEASEHOLD_DEMO_DATA: dataDirectory = ".leasehold/postgres" } = process.env;
  if (given) {
    say("Using the database in DATABASE_URL.");
    return { url: given, words: "PostgreSQL of DATABASE_URL", stop: () => Promise.resolve() };
  }
  say("Starting an embedded PostgreSQL (the first time takes a second) ...");
  const server = await startPostgres({
    dataDirectory,
    // The server's own log is for its operator; what the launcher has to say is for the reader.
    log: (line) => {
      if (!/\[\d+\]/.test(line)) say(`  ${line}`);
    },
  });
  say(`PostgreSQL ${server.version} is at ${server.url}; its data stay in ${server.dataDirectory}`);
  return {
    url: server.url,
    words: `PostgreSQL ${server.version} on port ${server.port}`,
    stop: () => server.stop(),
  };
}
