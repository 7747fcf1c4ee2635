import { checkDatabaseUrl } from "./adapters/database-url.js";
import { readEnvironment } from "./adapters/environment.js";
import { NodePostgres } from "./adapters/node-postgres.js";
import { nodePostgresSessions, type SessionSettings } from "./adapters/node-postgres-session.js";
import { OwnPool } from "./adapters/own-pool.js";
import { clientConfig } from "./adapters/pool-options.js";
import { asksForBinary } from "./adapters/row-parsers.js";
import { chosenLogger, type LogFormat } from "./adapters/stderr-logger.js";
import { systemClock } from "./adapters/system-clock.js";
import { systemRandom } from "./adapters/system-random.js";
import { systemSignals } from "./adapters/system-signals.js";
import { checkPoolShape, type PostgresPool } from "./checked-pool.js";
import { checkServer, type ServerRow } from "./checked-server.js";
import { binder } from "./database/bind.js";
import { GuardedDatabase } from "./database/guarded-database.js";
import type { Library } from "./database/migration.js";
import { checkSchemaName, type Names } from "./database/names.js";
import { beginEpoch, checkPlace } from "./database/place.js";
import { Replica } from "./database/replica.js";
import { readServer } from "./database/statements.generated.js";
import { DatabaseUnavailableError, InvalidOptionError } from "./errors.js";
import { createEvents } from "./events.js";
import { Leasehold } from "./leasehold.js";
import { type Logger, type LogLevel, logEvents, logLevels } from "./log-events.js";
import { loggableFields } from "./log-redaction.js";
import { type MemberOptions, memberSettings } from "./membership/member-settings.js";
import { type OptionNames, withKnownNames } from "./option-names.js";
import type { Clock } from "./seams/clock.js";
import type { Query } from "./seams/database.js";
import type { ProcessSignals } from "./seams/process-signals.js";
import type { Random } from "./seams/random.js";
import type { Sessions } from "./seams/session.js";
import { defaults, oneOf, wholeNumber } from "./settings.js";

export interface ConnectOptions extends MemberOptions {
  /** Where the database is; DATABASE_URL when left out. */
  readonly url?: string | undefined;
  /** A pool of yours instead; close() leaves it open. */
  readonly pool?: PostgresPool | undefined;
  /** LEASEHOLD_SCHEMA, or "leasehold". */
  readonly schema?: string | undefined;
  /** Where workers keep their sessions, if `url` leads through a pooler in transaction mode. */
  readonly directUrl?: string | undefined;
  /** A read-only standby that answers lists, counts and charts; the primary answers them while it is away. */
  readonly replicaUrl?: string | undefined;
  readonly connectionsMax?: number | undefined;
  /** How long each statement of lh.transaction and job.transaction may take; no limit when left out. */
  readonly transactionStatementTimeoutMs?: number | undefined;
  /** How long connect() tries to reach the server and to hear from it; 15 s. */
  readonly connectLimitMs?: number | undefined;
  /** Gets a line for everything worth one; pino, console and the like fit. "json" and "pretty" print lines on stderr, which is also done when it is left out; false prints nothing. */
  readonly logger?: Logger | LogFormat | false | undefined;
  /** What is below is left out: debug, info, warn or error. "warn" on stderr; "debug" for a logger of yours, which has a level of its own. */
  readonly logLevel?: LogLevel | undefined;
  /** For tests: other surroundings. */
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly sessions?: Sessions | undefined;
  readonly signals?: ProcessSignals | undefined;
  readonly library?: Library | undefined;
}

const connectOptionNames: OptionNames<ConnectOptions> = Object.freeze({
  url: true,
  pool: true,
  schema: true,
  directUrl: true,
  replicaUrl: true,
  connectionsMax: true,
  transactionStatementTimeoutMs: true,
  connectLimitMs: true,
  logger: true,
  logLevel: true,
  workerId: true,
  region: true,
  heartbeatMs: true,
  ttlMs: true,
  ringCacheMs: true,
  metadata: true,
  clock: true,
  random: true,
  sessions: true,
  signals: true,
  library: true,
});

/** One for a transaction of the user, one for everything beside it. */
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
  checkIsNoAddress(caller, options);
  withKnownNames(caller, options, connectOptionNames);
  const logger = chosenLogger(options.logger);
  const logLevel = oneOf(
    "logLevel",
    options.logLevel,
    logLevels,
    logger === options.logger ? "debug" : "warn",
  );
  const environment = readEnvironment();
  const schema = checkSchemaName(options.schema ?? environment.schema ?? defaults.schema);
  const connectLimitMs = wholeNumber("connectLimitMs", options.connectLimitMs, {
    fallback: defaults.connectLimitMs,
    min: 1,
    max: defaults.connectLimitMsMax,
  });
  if (options.pool !== undefined) checkPoolShape(options.pool);
  const member = memberSettings(options, environment);
  const { pool, sessionConfig } = wayIn(options, environment.databaseUrl);
  const replicaDriver = replicaAt(options.replicaUrl);
  const events = createEvents((name, error) =>
    logger?.error(loggableFields({ event: name, error }), "an event listener threw"),
  );
  if (logger !== null) logEvents(events, logger, logLevel);
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
    poolCounts: () => driver.poolCounts(),
    ...(options.library === undefined ? {} : { library: options.library }),
  };
  const database = new GuardedDatabase(seams);
  try {
    const names = { schema, queue: defaults.queue };
    const query = { ...binder(names)(readServer, {}), timeoutMs: connectLimitMs };
    const known = getToKnow(driver, database, query).then((server) => onServer(database, names, server));
    await within(connectLimitMs, known, () => {
      const last = database.lastFailure;
      const why = last instanceof Error ? `; the last try: ${last.message}` : "";
      const cause = new Error(`no answer within ${connectLimitMs} ms, its connectLimitMs${why}`, {
        cause: last,
      });
      throw new DatabaseUnavailableError("connect", false, { cause });
    });
    const around = { ...seams, primary: database, bind: binder(names) };
    const replica = replicaDriver === null ? null : new Replica({ ...around, replica: replicaDriver });
    // It is used as soon as it answers, and waited for only so long.
    if (replica !== null) await within(defaults.replicaOpenMs, replica.open(), () => {});
    return new Leasehold({ ...seams, database, ...(replica === null ? {} : { replica }) }, schema, member);
  } catch (error) {
    await Promise.all([driver.abort(), replicaDriver?.abort()]);
    throw error;
  }
}

/** Checked before anything is sent; nothing is sent here. What happens to its connections is told as replica:lost. */
function replicaAt(url: string | undefined): NodePostgres | null {
  if (url === undefined) return null;
  const limits = {
    ...defaults,
    connectTimeoutMs: defaults.replicaConnectTimeoutMs,
    statementTimeoutMs: defaults.replicaTimeoutMs,
    isReadOnly: true,
  };
  const connectionsMax = defaults.replicaReadsMax + 1; // One for checks.
  const pool = new OwnPool({ ...limits, url: checkDatabaseUrl("replicaUrl", url), connectionsMax });
  return new NodePostgres(
    pool,
    limits,
    createEvents(() => {}),
  );
}

/** What other libraries take as their first argument. */
function checkIsNoAddress(caller: string, options: unknown): void {
  const refuse = (option: string): never => {
    throw new InvalidOptionError(
      "options",
      options,
      `an object: call ${caller.replace("()", `({ ${option} })`)}`,
    );
  };
  if (typeof options === "string" || options instanceof URL) refuse("url");
  if (typeof options === "object" && options !== null && "totalCount" in options) refuse("pool");
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
  if (options.pool !== undefined && options.url !== undefined)
    throw new InvalidOptionError(
      "url",
      options.url,
      "left out beside a pool; directUrl is for the sessions of workers",
    );
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
  database.startedOnStandby = server?.is_standby === true;
  driver.needsExplicitIsolation = server?.isolation !== "read committed";
  return server;
}

/** By the time of this machine, whatever clock a test has given: it is the network that is waited for. `onLate` says what comes of it. */
async function within(limitMs: number, work: Promise<void>, onLate: () => void): Promise<void> {
  const over = new AbortController();
  const late = systemClock.sleep(limitMs, over.signal).then(onLate);
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    work.catch(() => {}); // What ends after its limit has nobody to tell.
    over.abort();
  }
}

function checkPool(pool: PostgresPool): void {
  if (asksForBinary(pool))
    throw new InvalidOptionError(
      "pool",
      { binary: true },
      "a pool whose connections send text (no binary: true)",
    );
  const { max = connectionsMin } = (pool.options ?? {}) as { readonly max?: number };
  if (max < connectionsMin)
    throw new InvalidOptionError("pool", max, `a pool of at least ${connectionsMin} connections`);
}
