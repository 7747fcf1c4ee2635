import { connect, createServer, type Server, type Socket } from "node:net";
import { listenInFrontOf } from "./in-front.js";

/**
 * A TCP proxy in front of PostgreSQL that understands just enough of the protocol to cut a connection at a chosen moment of a
 * statement: before its commit can happen, or after it happened and before the client hears of it.
 */
export interface CuttingProxy {
  readonly url: string;
  readonly cuts: { before: number; after: number };
  /**
   * Arms one cut for the next query whose text or prepared name contains `marker`. "before": the query never reaches the server.
   * "after": it runs and commits, and the answer is swallowed.
   */
  arm(when: "before" | "after", marker: string): void;
  isArmed(): boolean;
  /** Every connection there is ends with a TCP reset. */
  reset(): void;
  close(): Promise<void>;
}

export async function cuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const cuts = { before: 0, after: 0 };
  let armed: { when: "before" | "after"; marker: string } | null = null;
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let swallow = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      if (armed !== null && chunk.includes(armed.marker)) {
        const { when } = armed;
        armed = null;
        cuts[when] += 1;
        if (when === "before") {
          client.destroy();
          return;
        }
        swallow = true;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      if (!swallow) client.write(chunk);
      else if (isReady(chunk)) client.destroy();
    });
  });
  const url = await listenInFrontOf(databaseUrl, server);
  return {
    url,
    cuts,
    arm: (when, marker) => {
      armed = { when, marker };
    },
    isArmed: () => armed !== null,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** ReadyForQuery with status idle: the implicit transaction has committed. */
function isReady(chunk: Buffer): boolean {
  return chunk.length >= 6 && chunk.subarray(-6).equals(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]));
}
