import { setTimeout } from "node:timers/promises";
import pg from "pg";
import type { Query } from "../seams/database.js";
import type { Session, SessionListener, Sessions } from "../seams/session.js";
import { fromDriver } from "./driver-errors.js";

export interface SessionSettings {
  readonly config: pg.ClientConfig;
  readonly connectTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly closeWaitMs: number;
}

/** Sessions over single pg clients, outside of the pool. */
export function nodePostgresSessions(settings: SessionSettings): Sessions {
  return { open: (listener) => open(settings, listener) };
}

async function open(settings: SessionSettings, listener: SessionListener): Promise<Session> {
  const client = new pg.Client({
    ...settings.config,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: settings.sessionTimeoutMs,
    keepAlive: true,
    application_name: "leasehold session",
  });
  let isOver = true; // Until it is connected, connect() tells what is wrong.
  const lose = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    end(client);
    listener.onLost(reason);
  };
  client.on("error", (error) => lose(error.message));
  client.on("end", () => lose("the server ended it"));
  client.on("notification", ({ channel, payload }) => listener.onNotice(channel, payload ?? ""));
  try {
    await client.connect();
    isOver = false;
  } catch (error) {
    end(client);
    throw fromDriver(error, "the session", false);
  }
  const send = async <R>(name: string, text: string, values: unknown[]): Promise<readonly R[]> => {
    try {
      return (await client.query(text, values)).rows as R[];
    } catch (error) {
      const ours = fromDriver(error, name, true);
      // Also when no answer came in time: a connection that swallows one answer may have swallowed notifications too.
      if (ours.code === "LH_DATABASE_UNAVAILABLE") lose(String(error));
      throw ours;
    }
  };
  return {
    announcedPid: (client as unknown as { processID: number | null }).processID,
    run: <R>(query: Query<R>) => send<R>(query.name, query.text, [...query.values]),
    listen: async (channel) => void (await send("listen", `listen ${pg.escapeIdentifier(channel)}`, [])),
    close: async () => {
      isOver = true;
      await Promise.race([
        client.end().catch(() => {}),
        setTimeout(settings.closeWaitMs, null, { ref: false }),
      ]);
      end(client);
    },
  };
}

/** Politely if it answers; a socket into the void is dropped. */
function end(client: pg.Client): void {
  const { stream } =
    (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection ?? {};
  stream?.destroy();
}
