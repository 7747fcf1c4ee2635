import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../src/embedded.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** The server that the tests run on, as a superuser or at least as one who may create schemas. */
    databaseUrl: string;
  }
}

/** Gives the tests the server in DATABASE_URL, or else one of their own for the length of the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  if (given) {
    project.provide("databaseUrl", given);
    announce(await versionOf(given), `DATABASE_URL, ${placeOf(given)}`);
    return () => Promise.resolve();
  }
  const server = await startPostgres();
  project.provide("databaseUrl", server.url);
  announce(server.version, `embedded, ${placeOf(server.url)}`);
  return () => server.stop();
}

function announce(version: string, place: string): void {
  console.log(`The tests run on PostgreSQL ${version} (${place}).`);
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string }>(
      "select current_setting('server_version') as version",
    );
    return rows[0]?.version ?? "of unknown version";
  } finally {
    await client.end();
  }
}

/** The address without the user name and password. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
