import { connect, createServer, type Server, type Socket } from "node:net";

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  isSwallowed: boolean;
}

/** A TCP proxy before the server that can cut, delay and swallow what goes through it. */
export class ServerProxy {
  #target: URL;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  /** Every chunk, either way, comes so much later. */
  delayMs = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async before(url: string): Promise<ServerProxy> {
    const proxy = new ServerProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    const url = new URL(this.#target);
    url.port = String(typeof address === "object" ? address?.port : "");
    return url.href;
  }

  /** Breaks every connection; both sides are told. */
  cut(): void {
    for (const { client } of this.#pairs) client.destroy();
  }

  /** New connections lead to another server. */
  retarget(url: string): void {
    this.#target = new URL(url);
  }

  /** Every connection there is leads nowhere from now on, and nobody is told. New ones work. */
  swallow(): void {
    for (const pair of this.#pairs) pair.isSwallowed = true;
  }

  /** The server sees the end of every connection there is, and the client does not. New ones work. */
  breakServerSide(): void {
    for (const pair of this.#pairs) {
      pair.isSwallowed = true;
      pair.upstream.destroy();
    }
  }

  close(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.#server.close();
  }

  #join(client: Socket): void {
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    const pair: Pair = { client, upstream, isSwallowed: false };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      const way = new Way(pair, to);
      from.on("error", () => {});
      from.on("data", (chunk: Buffer) => way.send(chunk, this.delayMs));
      from.on("close", () => {
        if (!pair.isSwallowed) to.destroy();
        if (client.destroyed && upstream.destroyed) this.#pairs.delete(pair);
      });
    }
  }
}

/** One direction of a connection: what is late makes what follows late too, so that the order stays. */
class Way {
  readonly #pair: Pair;
  readonly #to: Socket;
  readonly #waiting: { readonly chunk: Buffer; readonly atMs: number }[] = [];

  constructor(pair: Pair, to: Socket) {
    this.#pair = pair;
    this.#to = to;
  }

  send(chunk: Buffer, delayMs: number): void {
    if (this.#pair.isSwallowed) return;
    if (delayMs === 0 && this.#waiting.length === 0) {
      this.#to.write(chunk);
      return;
    }
    this.#waiting.push({ chunk, atMs: performance.now() + delayMs });
    if (this.#waiting.length === 1) this.#wait();
  }

  #wait(): void {
    const [first] = this.#waiting;
    if (first !== undefined) setTimeout(() => this.#pass(), Math.max(0, first.atMs - performance.now()));
  }

  #pass(): void {
    const first = this.#waiting.shift();
    if (first !== undefined && !this.#pair.isSwallowed && !this.#to.destroyed) this.#to.write(first.chunk);
    this.#wait();
  }
}
