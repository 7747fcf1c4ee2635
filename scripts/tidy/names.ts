import type { Finding, TextFile } from "./finding.js";

const DRAWERS = new Set(["utils", "helpers", "common", "lib", "manager", "types"]);

/** Names that say nothing about the content grow into drawers; index files hide where a thing lives. */
export function checkNames(file: TextFile): readonly Finding[] {
  const parts = file.path.split("/");
  const names = parts.map((part) => part.replace(/(\.test|\.generated)?\.[a-z]+$/, ""));
  const drawer = names.find((name) => DRAWERS.has(name));
  const findings: Finding[] = [];
  if (drawer !== undefined) {
    const message = `"${drawer}" is a drawer, name the file after the one thing it holds`;
    findings.push({ path: file.path, line: 1, message });
  }
  if (parts[0] === "src" && parts.length > 2 && names.at(-1) === "index") {
    const message = "index file inside src/, import the file that holds the thing";
    findings.push({ path: file.path, line: 1, message });
  }
  return findings;
}
