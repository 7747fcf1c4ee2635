import { execFileSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

const sourceBytesMax = 256 * 1024 * 1024;

/** Compiles the library of an earlier commit of this repository into a folder. Returns its index. */
export function compileEarlier(commit: string, folder: string): string {
  const source = execFileSync("git", ["archive", commit], { maxBuffer: sourceBytesMax });
  execFileSync("tar", ["-x", "-C", folder], { input: source });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const compiler = resolve("node_modules/typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, "-p", join(folder, "tsconfig.json")], { stdio: "pipe" });
  } catch (error) {
    // Its tests and benches may need other packages than are installed; what is wrong in src/ shows when it is loaded.
    if (!existsSync(join(folder, "build/src/index.js"))) throw error;
  }
  return join(folder, "build/src/index.js");
}
