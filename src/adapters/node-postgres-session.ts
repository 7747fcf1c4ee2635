import pg from "pg";
import type { Query } from "../seams/database.js";
import type { Session, SessionListener, Sessions } from "../seams/session.js";
import { fromConnecting, fromDriver, isUnfit } from "./driver-errors.js";
import { dropConnection } from "./drop-connection.js";
import { placeOf } from "./pool-options.js";
import { asksForText, rowParsers } from "./row-parsers.js";

export interface SessionSettings {
  readonly config: pg.ClientConfig;
  readonly connectTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly closeWaitMs: number;
  readonly keepAliveMs: number;
}

/** Sessions over single pg clients, outside of the pool. */
export function nodePostgresSessions(settings: SessionSettings): Sessions {
  return { open: (listener) => open(settings, listener) };
}

async function open(settings: SessionSettings, listener: SessionListener): Promise<Session> {
  const client = new pg.Client({
    ...settings.config,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: settings.keepAliveMs,
    application_name: "leasehold session",
  });
  asksForText(client);
  let isOver = true; // Until it is connected, connect() tells what is wrong.
  const lose = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    dropConnection(client);
    listener.onLost(reason);
  };
  client.on("error", (error) => lose(error.message));
  client.on("end", () => lose("the server ended it"));
  client.on("notification", ({ channel, payload }) => listener.onNotice(channel, payload ?? ""));
  try {
    await client.connect();
    isOver = false;
  } catch (error) {
    dropConnection(client);
    throw fromConnecting(error, "the session", () => placeOf(settings.config));
  }
  const send = async <R>(name: string, text: string, values: unknown[]): Promise<readonly R[]> => {
    try {
      // With each query, where no connection string can undo it.
      const limited = { text, values, query_timeout: settings.sessionTimeoutMs, types: rowParsers };
      return (await client.query(limited)).rows as R[];
    } catch (error) {
      const ours = fromDriver(error, name, true);
      // Also when no answer came in time: a connection that swallows one answer may have swallowed notifications too.
      if (ours.code === "LH_DATABASE_UNAVAILABLE" || isUnfit(error)) lose(String(error));
      throw ours;
    }
  };
  return {
    announcedPid: (client as unknown as { processID: number | null }).processID,
    run: <R>(query: Query<R>) => send<R>(query.name, query.text, [...query.values]),
    listen: async (channel) => void (await send("listen", `listen ${pg.escapeIdentifier(channel)}`, [])),
    close: async () => {
      isOver = true;
      const timer = setTimeout(() => dropConnection(client), settings.closeWaitMs);
      await client.end().catch(() => {});
      clearTimeout(timer);
    },
  };
}
