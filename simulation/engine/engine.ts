import pg from "pg";
import { connect } from "../../src/index.js";
import type { Query } from "../../src/seams/database.js";
import { defaults } from "../../src/settings.js";
import type { Entry } from "../entries.js";
import { entryOf, lasting, type Recorded } from "./recorded.js";
import { recorderSchema, recorderSql, silence, tellingSql } from "./recorder.js";
import { ServerSession } from "./server-session.js";
import { queueName, schemaOf, type Variant, variants } from "./variants.js";
import { baseMs, ServerClock } from "./virtual-time.js";

export interface Notice {
  readonly channel: string;
  readonly payload: string;
}

/** Up to here it is cheaper to delete the rows of a table than to give it new files. */
const deletedBytesMax = 131_072;
const recordedChannel = "recorded";

/**
 * A real server that runs one statement at a time. Statements run on one connection, which also hears every notification, so that these arrive with the answer of the
 * statement that sent them. Sessions and open transactions have connections of their own, because the locks they hold are the server's to keep.
 */
export class Engine {
  readonly #url: string;
  readonly #main: pg.Client;
  readonly #spare: pg.Client[] = [];
  readonly #open = new Set<ServerSession>();
  readonly #channels = new Set<string>();
  readonly clock: ServerClock = new ServerClock();
  #notices: Notice[] = [];
  #schema = "";
  #recorded: Recorded[] = [];

  private constructor(url: string, main: pg.Client) {
    this.#url = url;
    this.#main = main;
    main.on("notification", ({ channel, payload }) => {
      if (channel === recordedChannel) this.#recorded.push(JSON.parse(payload ?? "") as Recorded);
      else this.#notices.push({ channel, payload: payload ?? "" });
    });
  }

  /** Makes a schema for each kind of queue in the database given. */
  static async open(url: string, kinds: readonly Variant[] = variants): Promise<Engine> {
    const main = await connected(url);
    for (const variant of kinds) await prepare(url, main, variant);
    return new Engine(url, main);
  }

  get schema(): string {
    return this.#schema;
  }

  /** Empties everything of a kind of queue; the history begins anew. */
  async reset(variant: Variant): Promise<void> {
    await this.endSessions();
    this.clock.offsetMs = 0;
    this.#schema = schemaOf(variant);
    const record = recorderSchema(this.#schema);
    const { rows } = await this.#main.query<{ name: string; is_large: boolean }>(
      `select c.oid::regclass::text as name, pg_relation_size(c.oid) > ${deletedBytesMax} as is_large from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ($1, $2) and c.relkind = 'r' and c.relname not in ('queues', 'migrations', 'schema_version', 'schema_place') and pg_relation_size(c.oid) > 0`,
      [this.#schema, record],
    );
    await this.#main.query(
      [
        `set ${silence} = on`,
        ...rows.map(({ name, is_large }) => (is_large ? `truncate ${name}` : `delete from ${name}`)),
        `update ${this.#schema}.queues set paused_at = null`,
        `set ${silence} = off`,
        `select setval(format('%I.%I', schemaname, sequencename), start_value, false) from pg_sequences where schemaname in ('${this.#schema}', '${record}')`,
        archiveDaysSql(this.#schema),
        "unlisten *",
        `listen ${recordedChannel}`,
      ].join("; "),
    );
    this.#channels.clear();
    this.#notices = [];
    this.#recorded = [];
  }

  /** Runs a statement at a time of the simulation. */
  async run<R>(query: Query<R>, nowMs: number): Promise<readonly R[]> {
    const { name, text } = query;
    const { rows } = await this.#main.query({ name, text, values: this.clock.valuesAt(query.values, nowMs) });
    if (name.startsWith("lh_end_session")) await this.#untilGone(query.values, rows.length > 0);
    return rows as R[];
  }

  /** What the database recorded since this was asked last, as far as takeNotices() has heard. */
  takeRecorded(by: string, atMs: number): readonly Entry[] {
    const recorded = lasting(this.#recorded);
    this.#recorded = [];
    return recorded.map((one) => entryOf(one, { atMs, by, baseMs: baseMs + this.clock.offsetMs }));
  }

  /** Plain SQL of the simulation itself. */
  async ask<R extends object>(text: string): Promise<readonly R[]> {
    return (await this.#main.query(text)).rows as R[];
  }

  async listen(channel: string): Promise<void> {
    if (this.#channels.has(channel)) return;
    this.#channels.add(channel);
    await this.#main.query(`listen ${pg.escapeIdentifier(channel)}`);
  }

  /** Notifications since this was asked last. After statements on other connections one has to be asked for on the main one first. */
  async takeNotices(isFromOther: boolean): Promise<readonly Notice[]> {
    if (isFromOther) await this.#main.query("");
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  /** A connection for a worker's session: a new one, because the server tells sessions apart by the process that serves them. */
  async openSession(): Promise<ServerSession> {
    return this.#opened(await connected(this.#url), (client) => client.end());
  }

  async openTransaction(): Promise<ServerSession> {
    const client = this.#spare.pop() ?? (await connected(this.#url));
    return this.#opened(client, async () => void this.#spare.push(client));
  }

  /** Every session and open transaction is over, as after a restart. */
  async endSessions(): Promise<void> {
    for (const session of [...this.#open]) await session.release();
  }

  async close(): Promise<void> {
    await this.endSessions();
    await Promise.all([this.#main, ...this.#spare].map((client) => client.end().catch(() => {})));
  }

  #opened(client: pg.Client, giveBack: (client: pg.Client) => Promise<void>): ServerSession {
    const session: ServerSession = new ServerSession(client, this.clock, async (isUsable) => {
      this.#open.delete(session);
      if (isUsable) await giveBack(client);
    });
    this.#open.add(session);
    return session;
  }

  /** A session that a statement has ended is gone for everybody before the next statement runs. */
  async #untilGone(values: readonly unknown[], wasFound: boolean): Promise<void> {
    if (!wasFound) return;
    for (const session of this.#open) if (values.includes(session.pid)) await session.untilEnded();
  }
}

/** The archive has the days of the beginning of virtual time and no others, so that housekeeping takes the same steps in each run. */
function archiveDaysSql(schema: string): string {
  const archive = `${schema}.${queueName}_archive`;
  const base = `timestamptz '${new Date(baseMs).toISOString()}'`;
  return `do $$
    declare
      v_day text;
    begin
      for v_day in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = '${archive}'::regclass and c.relname ~ '_a[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') not between (${base} at time zone 'UTC')::date and (${base} at time zone 'UTC')::date + ${defaults.archiveDaysAhead}
      loop
        execute format('drop table ${schema}.%I', v_day);
      end loop;
      perform ${schema}.make_archive_days('${queueName}', ${defaults.archiveDaysAhead}, ${base});
    end
    $$`;
}

async function prepare(url: string, main: pg.Client, variant: Variant): Promise<void> {
  const schema = schemaOf(variant);
  const lh = await connect({ url, schema, logger: false });
  try {
    await lh.migrate();
    await lh.queue(queueName, variant.options);
  } finally {
    await lh.close();
  }
  await main.query(recorderSql(schema, queueName, "until a crash"));
  await main.query(tellingSql(schema, recordedChannel));
  await main.query(
    `do $$ declare t regclass; begin
       for t in select c.oid::regclass from pg_class c where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' loop
         execute format('alter table %s set (autovacuum_enabled = off)', t);
       end loop; end $$`,
  );
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: "simulation" });
  client.on("error", () => {}); // One that is ended by a statement of another is dropped where it is used next.
  await client.connect();
  return client;
}
