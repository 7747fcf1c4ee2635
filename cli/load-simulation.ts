import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exitCodes } from "./exit-codes.js";
import { CliError } from "./failure.js";
import type { RunSimulation } from "./simulation.js";

const packageName = "leasehold-dev";

/**
 * Loads the simulation from leasehold-dev. The package is looked for where leasehold is installed, then in the application's folder, where package managers with strict folders put it.
 * It has a compiled copy of the library inside, so another version would test other code than the one that is installed.
 */
export async function loadSimulation(
  version: string,
  places: readonly string[] = [import.meta.url, join(process.cwd(), "package.json")],
): Promise<RunSimulation> {
  const install = `npm install --save-dev ${packageName}`;
  const manifest = firstResolved(places, `${packageName}/package.json`);
  if (manifest === null) {
    throw new CliError("CLI_NO_DEV_PACKAGE", exitCodes.notFound, {
      message: `The simulation is in the package ${packageName}, which is not installed.`,
      advice: `Install it: ${install}`,
    });
  }
  const found = versionOf(manifest);
  if (found !== version) {
    throw new CliError("CLI_DEV_PACKAGE_VERSION", exitCodes.conflict, {
      message: `leasehold has version ${version} and ${packageName} has version ${found}; they must be the same.`,
      advice: `Install the same version: ${install}@${version}`,
    });
  }
  const entry = firstResolved([manifest], `${packageName}/simulate`);
  if (entry === null) {
    throw new CliError("CLI_NO_DEV_PACKAGE", exitCodes.notFound, {
      message: `The package ${manifest} has no compiled simulation in it.`,
      advice: `Install it again: ${install}@${version}. In the repository of leasehold: npm run build:dev`,
    });
  }
  const { runSimulation } = (await import(pathToFileURL(entry).href)) as {
    readonly runSimulation: RunSimulation;
  };
  return runSimulation;
}

function firstResolved(places: readonly string[], name: string): string | null {
  for (const place of places) {
    try {
      return createRequire(place).resolve(name);
    } catch {
      // It is not there; the next place may have it.
    }
  }
  return null;
}

function versionOf(manifest: string): string {
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version?: unknown };
  return String(version);
}
