/** Who may import whom. Imports point one way, so that the core can be driven by other seams than the real ones. */
import type { Finding } from "./finding.js";
import { type Import, importsOf } from "./imports.js";
import type { ParsedFile } from "./parse.js";

const PUBLIC_ENTRIES = new Set(
  ["index", "embedded", "metrics", "opentelemetry", "tenants", "tuning"].map((name) => `src/${name}.ts`),
);
const ADAPTER_USERS = /^src\/(connect|index|embedded)\.ts$|^src\/adapters\//;
const FOUNDATION = /^src\/(seams\/|errors\.ts$|events\.ts$)/;

export function checkDirections(file: ParsedFile): readonly Finding[] {
  return importsOf(file).flatMap((imported) => {
    const message = imported.target === null ? null : complaint(file.path, imported, imported.target);
    return message === null ? [] : [{ path: file.path, line: imported.line, message }];
  });
}

function complaint(path: string, imported: Import, target: string): string | null {
  const folder = `${path.split("/")[0]}/`;
  if (folder === "src/") return complaintInSrc(path, imported, target);
  if (folder === "simulation/" && target.startsWith("src/adapters/")) {
    return `imports ${target}: the simulation brings its own seams, import the interface of src/seams`;
  }
  const isUser = folder === "cli/" || folder === "examples/";
  if (isUser && !target.startsWith(folder) && !PUBLIC_ENTRIES.has(target)) {
    return `imports ${target}: ${folder} uses the public API, import one of ${[...PUBLIC_ENTRIES].join(", ")}`;
  }
  return null;
}

function complaintInSrc(path: string, imported: Import, target: string): string | null {
  if (!target.startsWith("src/")) {
    return `imports ${target}: src/ is all that is published, move what it needs into src/`;
  }
  if (FOUNDATION.test(path) && !FOUNDATION.test(target)) {
    return `imports ${target}: seams, errors and events are the ground, turn the import around`;
  }
  if (FOUNDATION.test(path) && imported.isRuntime) {
    return `imports ${target} at run time: seams, errors and events share types only, write import type`;
  }
  if (target.startsWith("src/adapters/") && !ADAPTER_USERS.test(path)) {
    return `imports ${target}: take the seam as an argument, src/connect.ts hands over the adapter`;
  }
  return null;
}
