import { connect, createServer, type Socket } from "node:net";
import { listenInFrontOf } from "./in-front.js";

/** A TCP proxy in front of PostgreSQL that counts statements and can hold one back until a test has done something. */
export interface WatchingProxy {
  readonly url: string;
  /** Statements sent so far: simple queries and executions of prepared ones. */
  statements(): number;
  /** Calls back once, before the next message that contains the marker goes on to the server. */
  before(marker: string, act: () => void | Promise<void>): void;
  close(): Promise<void>;
}

export async function watchingProxy(databaseUrl: string): Promise<WatchingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let count = 0;
  let hook: { readonly marker: string; readonly act: () => void | Promise<void> } | null = null;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port || 5432), host: target.hostname, noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const counter = frameCounter();
    let turn = Promise.resolve();
    client.on("data", (chunk: Buffer) => {
      count += counter(chunk);
      turn = turn.then(async () => {
        const found = hook;
        if (found !== null && chunk.includes(found.marker)) {
          hook = null;
          await found.act();
        }
        upstream.write(chunk);
      });
    });
    upstream.on("data", (chunk: Buffer) => client.write(chunk));
  });
  const url = await listenInFrontOf(databaseUrl, server);
  return {
    url,
    statements: () => count,
    before: (marker, act) => {
      hook = { marker, act };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Counts Query and Execute messages in a stream from a client. The first message of a connection has no type. */
function frameCounter(): (chunk: Buffer) => number {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let found = 0;
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (rest.length < head + 4) return found;
      const length = rest.readUInt32BE(head) + head;
      if (rest.length < length) return found;
      const type = isStarted ? String.fromCharCode(rest[0] ?? 0) : "";
      if (type === "Q" || type === "E") found++;
      isStarted = true;
      rest = rest.subarray(length);
    }
  };
}
