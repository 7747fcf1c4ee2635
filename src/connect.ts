import { checkDatabaseUrl } from "./adapters/database-url.js";
import { readEnvironment } from "./adapters/environment.js";
import { NodePostgres, type PostgresPool } from "./adapters/node-postgres.js";
import { nodePostgresSessions, type SessionSettings } from "./adapters/node-postgres-session.js";
import { OwnPool } from "./adapters/own-pool.js";
import { clientConfig } from "./adapters/pool-options.js";
import { chosenLogger } from "./adapters/stderr-logger.js";
import { systemClock } from "./adapters/system-clock.js";
import { systemRandom } from "./adapters/system-random.js";
import { systemSignals } from "./adapters/system-signals.js";
import { checkPoolShape } from "./checked-pool.js";
import { checkServer, type ServerRow } from "./checked-server.js";
import { binder } from "./database/bind.js";
import { GuardedDatabase } from "./database/guarded-database.js";
import type { Library } from "./database/migration.js";
import { checkSchemaName, type Names } from "./database/names.js";
import { beginEpoch, checkPlace } from "./database/place.js";
import { readServer } from "./database/statements.generated.js";
import { DatabaseUnavailableError, InvalidOptionError } from "./errors.js";
import { createEvents } from "./events.js";
import { Leasehold } from "./leasehold.js";
import { type Logger, logEvents } from "./log-events.js";
import { type MemberOptions, memberSettings } from "./membership/member-settings.js";
import { type OptionNames, withKnownNames } from "./option-names.js";
import type { Clock } from "./seams/clock.js";
import type { Query } from "./seams/database.js";
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
  /** How long each statement of lh.transaction and job.transaction may take; no limit when left out. */
  readonly transactionStatementTimeoutMs?: number;
  /** How long connect() tries to reach the server and to hear from it; 15 s. */
  readonly connectLimitMs?: number;
  /** Gets a line for everything worth one; pino, console and the like fit. Left out, warnings and errors go to stderr; false prints nothing. */
  readonly logger?: Logger | false;
  /** For tests: other surroundings. */
  readonly clock?: Clock;
  readonly random?: Random;
  readonly sessions?: Sessions;
  readonly signals?: ProcessSignals;
  readonly library?: Library;
}

const connectOptionNames: OptionNames<ConnectOptions> = Object.freeze({
  url: true,
  pool: true,
  schema: true,
  directUrl: true,
  connectionsMax: true,
  transactionStatementTimeoutMs: true,
  connectLimitMs: true,
  logger: true,
  workerId: true,
  region: true,
  heartbeatMs: true,
  ttlMs: true,
  clock: true,
  random: true,
  sessions: true,
  signals: true,
  library: true,
});

const connectionsMin = 2;

/** Connects, checks the server, and hands out the library. Nothing is written. */
export async function connect(options: ConnectOptions = {}): Promise<Leasehold> {
  return await open("connect()", options, checkPlace);
}

/**
 * For a schema that was loaded from a dump, copied, or moved to another server, which connect() refuses: it works where it is from now on, and its fence tokens are higher than any that
 * were drawn before. To be called once, when nothing works on the original any more, with a role that owns the schema.
 */
export async function acceptRestore(options: ConnectOptions = {}): Promise<{ readonly epoch: bigint }> {
  let accepted = { epoch: 0n };
  const lh = await open("acceptRestore()", options, async (database, names, server) => {
    accepted = await beginEpoch(database, names, server);
  });
  await lh.close();
  return accepted;
}

/** `onServer` sees the server before anything else is done with it. */
async function open(
  caller: string,
  options: ConnectOptions,
  onServer: (database: GuardedDatabase, names: Names, server: ServerRow | undefined) => Promise<void>,
): Promise<Leasehold> {
  withKnownNames(caller, options, connectOptionNames);
  const logger = chosenLogger(options.logger);
  const environment = readEnvironment();
  const schema = checkSchemaName(options.schema ?? environment.schema ?? defaults.schema);
  const connectLimitMs = wholeNumber("connectLimitMs", options.connectLimitMs, {
    fallback: defaults.connectLimitMs,
    min: 1,
    max: defaults.connectLimitMsMax,
  });
  if (options.pool !== undefined) checkPoolShape(options.pool);
  if (options.directUrl !== undefined && typeof options.directUrl !== "string")
    throw new InvalidOptionError("directUrl", options.directUrl, "a PostgreSQL URL");
  const member = memberSettings(options, environment);
  const { pool, sessionConfig } = wayIn(options, environment.databaseUrl);
  const events = createEvents((name, error) =>
    logger?.error({ event: name, error }, "an event listener threw"),
  );
  if (logger !== null) logEvents(events, logger, options.logger === undefined ? "warn" : "debug");
  const limits = { ...defaults, transactionStatementTimeoutMs: statementLimitMs(options) };
  const driver = new NodePostgres(pool, limits, events);
  const sessionSettings = {
    ...defaults,
    connectTimeoutMs: defaults.sessionTimeoutMs,
    config: sessionConfig,
  };
  const seams = {
    database: driver,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    events,
    sessions: options.sessions ?? nodePostgresSessions(sessionSettings),
    signals: options.signals ?? systemSignals,
    ...(options.library === undefined ? {} : { library: options.library }),
  };
  const database = new GuardedDatabase(seams);
  try {
    const names = { schema, queue: defaults.queue };
    const query = { ...binder(names)(readServer, {}), timeoutMs: connectLimitMs };
    const known = getToKnow(driver, database, query).then((server) => onServer(database, names, server));
    await within(connectLimitMs, known);
  } catch (error) {
    await driver.abort();
    throw error;
  }
  return new Leasehold({ ...seams, database }, schema, member);
}

function statementLimitMs({ transactionStatementTimeoutMs: limitMs }: ConnectOptions): number | null {
  if (limitMs === undefined) return defaults.transactionStatementTimeoutMs;
  const max = defaults.transactionStatementTimeoutMsMax;
  return wholeNumber("transactionStatementTimeoutMs", limitMs, { fallback: max, min: 1, max });
}

/** The pool, and how sessions reach the same server. Everything is checked before anything is sent. */
function wayIn(
  options: ConnectOptions,
  databaseUrl: string | undefined,
): { readonly pool: PostgresPool; readonly sessionConfig: SessionSettings["config"] } {
  const connectionsMax = wholeNumber("connectionsMax", options.connectionsMax, {
    fallback: defaults.connectionsMax,
    min: connectionsMin,
    max: 1_000,
  });
  const given = options.url === undefined ? undefined : checkDatabaseUrl("url", options.url);
  const direct = options.directUrl === undefined ? given : checkDatabaseUrl("directUrl", options.directUrl);
  if (options.pool !== undefined) {
    checkPool(options.pool);
    const sessionConfig =
      direct === undefined ? clientConfig(options.pool.options ?? {}) : { connectionString: direct };
    return { pool: options.pool, sessionConfig };
  }
  if (given === undefined && databaseUrl === undefined) {
    throw new InvalidOptionError(
      "url",
      undefined,
      "a PostgreSQL URL, such as postgres://user@host/database; or set DATABASE_URL, or pass a pool",
    );
  }
  const url = given ?? checkDatabaseUrl("DATABASE_URL", databaseUrl);
  const pool = new OwnPool({ ...defaults, url, connectionsMax });
  return { pool, sessionConfig: { connectionString: direct ?? url } };
}

async function getToKnow(
  driver: NodePostgres,
  database: GuardedDatabase,
  whoIsThere: Query<ServerRow>,
): Promise<ServerRow | undefined> {
  const [server] = await database.run(whoIsThere);
  checkServer(server);
  await driver.lookForPooler();
  driver.needsExplicitIsolation = server?.isolation !== "read committed";
  return server;
}

/** By the time of this machine, whatever clock a test has given: it is the network that is waited for. */
async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  const late = systemClock.sleep(limitMs, over.signal).then(() => {
    const cause = new Error(`no answer within ${limitMs} ms, its connectLimitMs`);
    throw new DatabaseUnavailableError("connect", false, { cause });
  });
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    over.abort();
  }
}

/** Housekeeping holds its election on one connection while it works on another. */
function checkPool(pool: PostgresPool | undefined): void {
  const max = pool?.options?.max ?? connectionsMin;
  if (max < connectionsMin)
    throw new InvalidOptionError("pool", max, `a pool of at least ${connectionsMin} connections`);
}
