import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const developmentManifest = JSON.parse(readFileSync("dev/package.json", "utf8")) as Manifest;

/** The file that the build makes the entry from: src/ and cli/ lie side by side in dist/. */
const sourceOf = (entry: string): string => entry.replace("./dist/", "").replace(/(\.d)?\.(ts|js)$/, ".ts");

test("every entry of the package is a file that the build makes", () => {
  const entries = Object.values(manifest.exports).filter((entry) => typeof entry !== "string");
  expect(entries.length).toBeGreaterThan(2);
  for (const entry of entries) {
    expect(entry.default).toMatch(/^\.\/dist\/src\/\w+\.js$/);
    expect(existsSync(sourceOf(entry.default)), entry.default).toBe(true);
    expect(sourceOf(entry.types)).toBe(sourceOf(entry.default));
  }
});

test("the program is a file that the build makes, and begins with its interpreter", () => {
  const program = sourceOf(manifest.bin.leasehold ?? "");
  expect(readFileSync(program, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test("leasehold-dev has the version of leasehold, its driver, and the simulation that its build makes", () => {
  const { version, dependencies, exports } = developmentManifest;
  expect(version).toBe(manifest.version);
  expect(manifest.devDependencies["leasehold-dev"]).toBe(version);
  expect(dependencies).toEqual({ pg: manifest.dependencies.pg });
  const { files } = JSON.parse(readFileSync("dev/tsconfig.json", "utf8")) as { readonly files: string[] };
  expect(files.map((file) => file.replace(/^\.\.\//, ""))).toContain(sourceOf(String(exports["./simulate"])));
});
