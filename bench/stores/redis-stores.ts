import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forgetQueue } from "../systems/bullmq.js";
import type { StoreKind } from "../systems/system.js";
import { until } from "../wait.js";
import type { Store } from "./store.js";

const startLimitMs = 10_000;

/** Where Redis comes from: a program that is started for each measurement, somebody's server, or nowhere. */
export type RedisSource =
  | { readonly is: "program"; readonly version: string }
  | { readonly is: "url"; readonly url: string }
  | { readonly is: "none" };

export function findRedis(): RedisSource {
  try {
    const text = execFileSync("redis-server", ["--version"], { encoding: "utf8" });
    return { is: "program", version: /v=([\d.]+)/.exec(text)?.[1] ?? "unknown" };
  } catch {
    const url = process.env.REDIS_URL;
    return url === undefined || url === "" ? { is: "none" } : { is: "url", url };
  }
}

/** Why there is no such store here; null when there is. */
export function whyNoRedis(source: RedisSource, kind: StoreKind): string | null {
  if (kind === "postgres" || source.is === "program") return null;
  if (source.is === "none") return "redis-server is not installed and REDIS_URL is not set";
  return kind === "redis-always" ? "redis-server is not installed; REDIS_URL is used as it is set up" : null;
}

export function redisText(source: RedisSource): string {
  if (source.is === "program") return `${source.version}, appendonly yes`;
  return source.is === "url" ? "of REDIS_URL, as it is set up" : "none";
}

let count = 0;

export async function openRedis(source: RedisSource, kind: StoreKind): Promise<Store> {
  if (source.is === "url") {
    count++;
    // The name of the queue goes along in the fragment.
    const url = `${source.url}#leasehold-bench-${process.pid}-${count}`;
    return { url, settle: nothing, drop: () => forgetQueue(url) };
  }
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "leasehold-bench-redis-"));
  const server = startRedis(folder, { port, flush: kind === "redis-always" ? "always" : "everysec" });
  const drop = (): Promise<void> => end(server);
  if (await until(() => answers(port), { limitMs: startLimitMs, everyMs: 20 })) {
    return { url: `redis://127.0.0.1:${port}`, settle: nothing, drop };
  }
  await drop();
  throw new Error("redis-server did not start.");
}

/** A shell holds it and waits on a pipe of ours: however we end, the pipe closes, the server is stopped and its folder is removed. */
function startRedis(
  folder: string,
  { port, flush }: { readonly port: number; readonly flush: string },
): ChildProcess {
  const script =
    'cd "$0" && { redis-server "$@" >/dev/null 2>&1 & } && pid=$! && read -r line; kill "$pid"; wait "$pid"; cd / && rm -rf -- "$0"';
  const listen = ["--port", String(port), "--bind", "127.0.0.1", "--save", ""];
  const parameters = ["-c", script, folder, ...listen, "--appendonly", "yes", "--appendfsync", flush];
  return spawn("/bin/sh", parameters, { stdio: ["pipe", "ignore", "ignore"], detached: true });
}

async function end(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.stdin?.end();
  if (server.exitCode === null) await ended;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    const tell = (isSo: boolean): void => {
      socket.destroy();
      resolve(isSo);
    };
    socket.once("connect", () => tell(true));
    socket.once("error", () => tell(false));
  });
}

async function nothing(): Promise<void> {}
