import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { benchFolder } from "./load-peer.js";

interface Lock {
  readonly packages?: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;
}

/** Installs the peers when one is missing or has another version than the lock file says. */
export function installPeers(say: (line: string) => void): void {
  if (isInstalled()) return;
  say("Installing the queues to compare with (npm ci --prefix bench)");
  // Some ask for a newer Node than 20, and run on it all the same; hence only errors are shown.
  const parameters = ["ci", "--prefix", benchFolder, "--ignore-scripts", "--no-audit", "--no-fund"];
  // npm is a script of the shell on Windows, which cannot be run as a program.
  execFileSync("npm", [...parameters, "--loglevel=error"], {
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
}

function isInstalled(): boolean {
  // npm leaves a copy of what it has installed.
  const installed = readLock(join(benchFolder, "node_modules", ".package-lock.json"));
  const wanted = readLock(join(benchFolder, "package-lock.json"));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" || optional === true || installed[path]?.version === version,
  );
}

function readLock(file: string): NonNullable<Lock["packages"]> {
  if (!existsSync(file)) return {};
  return (JSON.parse(readFileSync(file, "utf8")) as Lock).packages ?? {};
}
