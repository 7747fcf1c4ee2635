/** What the package may depend on, and that nothing names the place where packages were fetched from. */
import { type Finding, findLines, type TextFile } from "./finding.js";

const RUNTIME_DEPENDENCIES = new Set(["pg", "commander"]);
const REGISTRY_HOST =
  /\b(registry\.npmjs\.|registry\.yarnpkg\.|registry\.npmmirror\.|npm\.pkg\.github\.|[\w-]+\.jfrog\.io|npm\.jsr\.)/i;

export function checkPackages(file: TextFile): readonly Finding[] {
  const name = file.path.split("/").at(-1);
  const isLock = name === "package-lock.json" || name === "npm-shrinkwrap.json";
  return [
    ...(isLock ? findLines(file, /"resolved":\s*"http/, RESOLVED) : findLines(file, REGISTRY_HOST, REGISTRY)),
    ...(file.path === "package.json" ? checkDependencies(file) : []),
  ];
}

const RESOLVED = "the lock file names a host, install with omit-lockfile-registry-resolved=true in .npmrc";
const REGISTRY = "names a package registry, leave the host to the reader's npm configuration";

function checkDependencies(file: TextFile): readonly Finding[] {
  const manifest: unknown = JSON.parse(file.text);
  if (typeof manifest !== "object" || manifest === null || !("dependencies" in manifest)) return [];
  return Object.keys(manifest.dependencies ?? {})
    .filter((dependency) => !RUNTIME_DEPENDENCIES.has(dependency))
    .flatMap((dependency) => {
      const message = `runtime dependency ${dependency}, do without it or make it an optional peer`;
      const line = file.text.slice(0, file.text.indexOf(`"${dependency}"`)).split("\n").length;
      return [{ path: file.path, line, message }];
    });
}
