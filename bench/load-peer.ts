import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

export type PeerName = "graphile-worker" | "pg-boss" | "bullmq";

/** Where the peers are installed. Like all of our scripts this runs in the root of the repository. */
export const benchFolder: string = resolve("bench");

/** A peer's module. The caller describes the few functions that it calls. */
export async function loadPeer<T>(name: PeerName): Promise<T> {
  const { peers } = (await import(pathToFileURL(resolve(benchFolder, "peers.js")).href)) as {
    readonly peers: Readonly<Record<PeerName, () => Promise<T>>>;
  };
  return await peers[name]();
}

/** The version that is installed. */
export function peerVersion(name: PeerName): string {
  const manifest: unknown = JSON.parse(
    readFileSync(resolve(benchFolder, "node_modules", name, "package.json"), "utf8"),
  );
  return String((manifest as { readonly version?: unknown }).version);
}
