/**
 * Completes package-lock.json after `npm install`: adds the optional packages for other platforms that the registry at hand did not
 * have, so that `npm ci` finds the lock file in step with package.json everywhere. A platform that needs one of them fetches it by name and
 * version; all others skip it by its `os` and `cpu`.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface LockEntry {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  packages: Record<string, LockEntry>;
}

const systems = [
  "android",
  "darwin",
  "freebsd",
  "linux",
  "openharmony",
  "win32",
  "aix",
  "sunos",
  "netbsd",
  "openbsd",
];
const processors = ["arm64", "arm", "x64", "ia32", "ppc64", "s390x", "riscv64", "loong64", "wasm32"];

function complete(lock: Lock): string[] {
  const added: string[] = [];
  for (const entry of Object.values(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const path = `node_modules/${name}`;
      const platform = platformOf(name);
      if (lock.packages[path] !== undefined || platform === null || !/^\d/.test(version)) continue;
      lock.packages[path] = { version, ...platform, ...(entry.dev === true ? { dev: true } : {}) };
      added.push(`${name}@${version}`);
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  return added;
}

/** What the end of such a name says: linux-x64-musl, win32-arm64-msvc, android-arm-eabi, wasm32-wasi. */
function platformOf(name: string): { optional: true; os?: string[]; cpu: string[]; libc?: string[] } | null {
  const words = name.split(/[/-]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (cpu === undefined) return null;
  const libc = words.includes("musl") ? "musl" : "glibc";
  const hasLibc = os === "linux" && words.some((word) => word === "musl" || word.startsWith("gnu"));
  return {
    optional: true,
    cpu: [cpu],
    ...(os === undefined ? {} : { os: [os] }),
    ...(hasLibc ? { libc: [libc] } : {}),
  };
}

function main(): void {
  const file = "package-lock.json";
  const content = JSON.parse(readFileSync(file, "utf8")) as Lock;
  const names = complete(content);
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  console.log(
    names.length === 0 ? "The lock file is complete." : `Added ${names.length}: ${names.join(", ")}`,
  );
}

main();
