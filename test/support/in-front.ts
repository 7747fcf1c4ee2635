import type { Server } from "node:net";

/** Listens on a free port of this machine; returns the URL of the database with that port in its place. */
export async function listenInFrontOf(databaseUrl: string, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(typeof address === "object" && address !== null ? address.port : 0);
  return url.href;
}
