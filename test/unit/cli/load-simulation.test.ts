import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadSimulation } from "../../../cli/load-simulation.js";

interface DevPackage {
  readonly version: string;
  readonly entry?: string;
}

/** An application's package.json, with this leasehold-dev installed beside it. */
async function application(installed?: DevPackage): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  if (installed !== undefined) {
    const packageFolder = join(folder, "node_modules/leasehold-dev");
    await mkdir(packageFolder, { recursive: true });
    const exports = { "./simulate": "./simulate.js", "./package.json": "./package.json" };
    const manifest = { name: "leasehold-dev", version: installed.version, type: "module", exports };
    await writeFile(join(packageFolder, "package.json"), JSON.stringify(manifest));
    if (installed.entry !== undefined)
      await writeFile(join(packageFolder, "simulate.js"), `export const runSimulation = ${installed.entry};`);
  }
  return join(folder, "package.json");
}

test("the simulation of leasehold-dev is loaded, from the first place that has it", async () => {
  const without = await application();
  const first = await application({ version: "1.2.3", entry: '() => "first"' });
  const second = await application({ version: "1.2.3", entry: '() => "second"' });
  const load = async (...places: string[]): Promise<unknown> => {
    const run = (await loadSimulation("1.2.3", places)) as unknown as () => string;
    return run();
  };
  expect(await load(without, first, second)).toBe("first");
  expect(await load(second, first)).toBe("second");
});

test("without leasehold-dev the error says how to install it", async () => {
  await expect(loadSimulation("1.2.3", [await application(), await application()])).rejects.toMatchObject({
    code: "CLI_NO_DEV_PACKAGE",
    exitCode: 3,
    message: "The simulation is in the package leasehold-dev, which is not installed.",
    advice: "Install it: npm install --save-dev leasehold-dev",
  });
});

test("another version of leasehold-dev is refused, and the error says which to install", async () => {
  const place = await application({ version: "1.2.4", entry: "() => null" });
  await expect(loadSimulation("1.2.3", [place])).rejects.toMatchObject({
    code: "CLI_DEV_PACKAGE_VERSION",
    exitCode: 4,
    message: "leasehold has version 1.2.3 and leasehold-dev has version 1.2.4; they must be the same.",
    advice: "Install the same version: npm install --save-dev leasehold-dev@1.2.3",
  });
});

test("a leasehold-dev without the compiled simulation says so", async () => {
  const place = await application({ version: "1.2.3" });
  await expect(loadSimulation("1.2.3", [place])).rejects.toMatchObject({
    code: "CLI_NO_DEV_PACKAGE",
    message: expect.stringContaining("has no compiled simulation in it"),
    advice: expect.stringContaining("npm run build:dev"),
  });
});
