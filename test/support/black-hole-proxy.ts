import { connect, createServer, type Server, type Socket } from "node:net";
import { listenInFrontOf } from "./in-front.js";

/**
 * A TCP proxy that can turn into a black hole, as a network does when a route or a firewall's memory of a connection is gone: what is sent is
 * accepted and never arrives, in neither direction, and nobody is told. The server's end of a swallowed connection stays open, so the server goes on
 * believing in it, unless a test says otherwise.
 */
export interface BlackHoleProxy {
  readonly url: string;
  /** Connections that were taken and led nowhere, since the start. */
  readonly swallowed: () => number;
  /** Connections that clients have not closed. */
  readonly held: () => number;
  /** From now on every connection there is leads nowhere, for good, and so do new ones. */
  swallow(): void;
  /** New connections get through again; what was swallowed stays so. */
  letThrough(): void;
  /** The server's ends of swallowed connections are closed, as its keep-alive would do in time. */
  dropServerEnds(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket | null;
  isSwallowed: boolean;
  /** The client has closed its end; in the void nobody answers that. */
  hasEnded: boolean;
}

export async function blackHoleProxy(databaseUrl: string): Promise<BlackHoleProxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let isHole = false;
  let swallowed = 0;
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    const to = { port: Number(target.port || 5432), host: target.hostname, allowHalfOpen: true };
    const pair: Pair = {
      client,
      upstream: isHole ? null : connect(to),
      isSwallowed: isHole,
      hasEnded: false,
    };
    if (isHole) swallowed++;
    pairs.add(pair);
    join(pair);
  });
  const url = await listenInFrontOf(databaseUrl, server);
  return {
    url,
    swallowed: () => swallowed,
    held: () => [...pairs].filter(({ hasEnded }) => !hasEnded).length,
    swallow: () => {
      isHole = true;
      for (const pair of pairs) {
        if (!pair.isSwallowed) swallowed++;
        pair.isSwallowed = true;
      }
    },
    letThrough: () => {
      isHole = false;
    },
    dropServerEnds: () => {
      for (const pair of pairs) if (pair.isSwallowed) pair.upstream?.destroy();
    },
    close: async () => {
      for (const { client, upstream } of pairs) for (const socket of [client, upstream]) socket?.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes on what arrives, and closings too, until the pair is swallowed. */
function join(pair: Pair): void {
  const { client, upstream } = pair;
  const link = (from: Socket, to: Socket | null): void => {
    from.on("error", () => {});
    from.on("data", (chunk: Buffer) => {
      if (!pair.isSwallowed) to?.write(chunk);
    });
    from.on("end", () => {
      if (!pair.isSwallowed) to?.end();
    });
    from.on("close", () => {
      if (!pair.isSwallowed) to?.destroy();
    });
  };
  for (const event of ["end", "close"]) {
    client.on(event, () => {
      pair.hasEnded = true;
    });
  }
  link(client, upstream);
  if (upstream !== null) link(upstream, client);
}
