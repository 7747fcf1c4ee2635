import { readEnvironment } from "./adapters/environment.js";
import { createPool, NodePostgres, type PostgresPool } from "./adapters/node-postgres.js";
import { nodePostgresSessions } from "./adapters/node-postgres-session.js";
import { systemClock } from "./adapters/system-clock.js";
import { systemRandom } from "./adapters/system-random.js";
import { systemSignals } from "./adapters/system-signals.js";
import { binder } from "./database/bind.js";
import { GuardedDatabase } from "./database/guarded-database.js";
import { checkSchemaName } from "./database/names.js";
import { readServer } from "./database/statements.generated.js";
import { InvalidOptionError, UnsupportedServerError } from "./errors.js";
import { createEvents } from "./events.js";
import { Leasehold } from "./leasehold.js";
import { type Logger, logEvents } from "./log-events.js";
import { type MemberOptions, memberSettings } from "./membership/member-settings.js";
import type { Clock } from "./seams/clock.js";
import type { ProcessSignals } from "./seams/process-signals.js";
import type { Random } from "./seams/random.js";
import type { Sessions } from "./seams/session.js";
import { defaults, wholeNumber } from "./settings.js";

export interface ConnectOptions extends MemberOptions {
  /** Where the database is; DATABASE_URL when left out. */
  readonly url?: string | undefined;
  /** A pool of yours instead; close() leaves it open. */
  readonly pool?: PostgresPool;
  /** LEASEHOLD_SCHEMA, or "leasehold". */
  readonly schema?: string | undefined;
  /** Where workers keep their sessions, if `url` leads through a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  readonly connectionsMax?: number;
  /** Gets a line for everything worth one. pino, console and the like fit. */
  readonly logger?: Logger;
  /** For tests: other surroundings. */
  readonly clock?: Clock;
  readonly random?: Random;
  readonly sessions?: Sessions;
  readonly signals?: ProcessSignals;
}

const oldestServer = 14;
const connectionsMin = 2;

/** Connects, checks the server, and hands out the library. Nothing is written. */
export async function connect(options: ConnectOptions = {}): Promise<Leasehold> {
  const environment = readEnvironment();
  const schema = checkSchemaName(options.schema ?? environment.schema ?? defaults.schema);
  const connectionsMax = wholeNumber("connectionsMax", options.connectionsMax, {
    fallback: defaults.connectionsMax,
    min: connectionsMin,
    max: 1_000,
  });
  checkPool(options.pool);
  const url = options.url ?? environment.databaseUrl;
  if (options.pool === undefined && (typeof url !== "string" || url === "")) {
    throw new InvalidOptionError(
      "url",
      url,
      "a PostgreSQL URL, such as postgres://user@host/database; or set DATABASE_URL, or pass a pool",
    );
  }
  const events = createEvents((name, error) =>
    options.logger?.error({ event: name, error }, "an event listener threw"),
  );
  if (options.logger !== undefined) logEvents(events, options.logger);
  const pool = options.pool ?? createPool({ ...defaults, url: url ?? "", connectionsMax });
  const member = memberSettings(options, environment);
  const driver = new NodePostgres(pool, options.pool === undefined, events);
  const direct = options.directUrl ?? options.url ?? (options.pool === undefined ? url : undefined);
  const config = direct === undefined ? options.pool?.options : { connectionString: direct };
  const seams = {
    database: driver,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    events,
    sessions:
      options.sessions ??
      nodePostgresSessions({
        ...defaults,
        connectTimeoutMs: defaults.sessionTimeoutMs,
        config: config ?? {},
      }),
    signals: options.signals ?? systemSignals,
  };
  const database = new GuardedDatabase(seams);
  try {
    const [server] = await database.run(binder({ schema, queue: defaults.queue })(readServer, {}));
    checkServer(server);
    await driver.lookForPooler();
    driver.needsExplicitIsolation = server?.isolation !== "read committed";
  } catch (error) {
    await database.close();
    throw error;
  }
  return new Leasehold({ ...seams, database }, schema, member);
}

function checkServer(server: { readonly version: number; readonly datestyle: string } | undefined): void {
  const version = server?.version ?? 0;
  if (version < oldestServer * 10_000) {
    throw new UnsupportedServerError(
      `it is PostgreSQL ${Math.floor(version / 10_000)}, Leasehold needs ${oldestServer} or newer`,
    );
  }
  if (server?.datestyle.startsWith("ISO") !== true) {
    const advice = "alter role ... set datestyle to 'ISO'";
    throw new UnsupportedServerError(
      `its datestyle is ${server?.datestyle}, which the driver can't read (${advice})`,
    );
  }
}

/** Housekeeping holds its election on one connection while it works on another. */
function checkPool(pool: PostgresPool | undefined): void {
  const max = pool?.options?.max ?? connectionsMin;
  if (max < connectionsMin)
    throw new InvalidOptionError("pool", max, `a pool of at least ${connectionsMin} connections`);
}
