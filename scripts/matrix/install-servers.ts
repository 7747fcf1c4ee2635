import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { platformName } from "../../src/adapters/embedded-postgres/locate-binaries.js";

const MANIFEST_FOLDER = resolve("test/matrix");
const LOCKED_PLATFORM = "linux-x64";

/** The folder of the binaries of a version. The first call that misses them installs all versions side by side. */
export function installServers(major: number): string {
  const platform = platformName();
  const parent = platform === LOCKED_PLATFORM ? MANIFEST_FOLDER : resolve(`build/matrix-${platform}`);
  const folder = join(parent, "node_modules", `pg${major}`);
  if (existsSync(folder)) return folder;

  if (platform === LOCKED_PLATFORM) {
    console.log("Installing the servers of test/matrix");
    npm("ci", parent);
  } else {
    console.log(
      `Installing servers for ${platform} in ${parent}. Only those for ${LOCKED_PLATFORM} have a lock file.`,
    );
    writeManifest(parent, platform);
    npm("install", parent);
  }
  return folder;
}

/** The launcher makes the links that the packages' install scripts would make, so none has to run. */
function npm(command: "ci" | "install", folder: string): void {
  const parameters = [command, "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"];
  // npm is a script of the shell on Windows, which cannot be run as a program.
  execFileSync("npm", parameters, { stdio: "inherit", shell: process.platform === "win32" });
}

/** The same versions as in test/matrix, for another platform. */
function writeManifest(folder: string, platform: string): void {
  const manifest = readFileSync(join(MANIFEST_FOLDER, "package.json"), "utf8");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), manifest.replaceAll(LOCKED_PLATFORM, platform));
}
