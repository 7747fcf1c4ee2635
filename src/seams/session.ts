import type { Query } from "./database.js";

/**
 * A connection of its own, kept open: it hears notifications, and what it locks stays locked for as long as it lives. Behind a pooler in
 * transaction mode neither is true, which src/membership/direct-session.ts finds out.
 */
export interface Session {
  /** The process id that the server told when the connection was made. A pooler tells one of its own making. */
  readonly announcedPid: number | null;
  /** Runs a query on this connection. No answer in time ends the session. */
  run<R>(query: Query<R>): Promise<readonly R[]>;
  listen(channel: string): Promise<void>;
  close(): Promise<void>;
}

export interface SessionListener {
  /** Notifications may be lost, doubled or merged: they are hints. */
  onNotice(channel: string, payload: string): void;
  /** Once, when the connection is gone. Not after close(). */
  onLost(reason: string): void;
}

export interface Sessions {
  open(listener: SessionListener): Promise<Session>;
}
