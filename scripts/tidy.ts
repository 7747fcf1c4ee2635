/** The rules of style that a program can check. Prints one line per finding and fails when there is any. */
import { readdirSync, readFileSync } from "node:fs";
import { checkFiles } from "./tidy/check.js";
import { formatFinding, type TextFile } from "./tidy/finding.js";

const SKIPPED_FOLDERS = new Set([".git", "node_modules", "build", "dist", ".leasehold"]);
const TEXT_FILE = /\.(tsx?|[cm]?js|sql|md|json|ya?ml|sh|html|css)$|(^|\/)\.npmrc$|^\.ci\//;

function main(): number {
  const files = listFiles("").map((path): TextFile => ({ path, text: readFileSync(path, "utf8") }));
  const findings = checkFiles(files);
  for (const finding of findings) console.error(formatFinding(finding));
  console.log(`tidy: ${files.length} files, ${findings.length} findings`);
  return findings.length === 0 ? 0 : 1;
}

/** Walks the tree itself instead of asking git, so that it also works in an unpacked archive. */
function listFiles(folder: string): readonly string[] {
  const entries = readdirSync(folder === "" ? "." : folder, { withFileTypes: true });
  entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : listFiles(`${path}/`);
    return TEXT_FILE.test(path) ? [path] : [];
  });
}

process.exitCode = main();
