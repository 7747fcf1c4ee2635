import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** Pages of the package linked files that the package does not have. */

const root = new URL("../../", import.meta.url);

async function shippedFiles(): Promise<readonly string[]> {
  const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const { stdout } = await promisify(execFile)("npm", pack, {
    cwd: root,
    shell: process.platform === "win32",
  });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path);
}

test("every relative link in a page of the package leads to a file of the package", async () => {
  const files = await shippedFiles();
  const pages = files.filter((path) => path.endsWith(".md"));
  expect(pages).toContain("README.md");
  const dead: string[] = [];
  for (const page of pages) {
    const text = await readFile(new URL(page, root), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)\s#]+)[^)]*\)/g)) {
      const path = posix.join(posix.dirname(page), target);
      if (!files.includes(path)) dead.push(`${page} -> ${target}`);
    }
  }
  expect(dead).toEqual([]);
});
