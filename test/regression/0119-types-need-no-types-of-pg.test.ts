import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

/** The declarations imported pg, so they compiled only beside @types/pg, which users need not have. */

/** What a declaration file names as a module: imports, exports, and import() types. */
const modules = /(?:from\s+|import\(\s*|import\s+)"([^"]+)"/g;

async function outsideOf(entry: string): Promise<Set<string>> {
  const outside = new Set<string>();
  const seen = new Set<string>();
  const visit = async (url: URL): Promise<void> => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    const text = await readFile(url, "utf8");
    for (const [, name = ""] of text.matchAll(modules)) {
      if (name.startsWith(".")) await visit(new URL(name.replace(/\.js$/, ".d.ts"), url));
      else outside.add(name);
    }
  };
  await visit(new URL(`../../build/src/${entry}.d.ts`, import.meta.url));
  expect(seen.size).toBeGreaterThan(0);
  return outside;
}

test.each(["index", "tenants", "embedded"])("the declarations of %s name no package", async (entry) => {
  expect([...(await outsideOf(entry))].filter((name) => !name.startsWith("node:"))).toEqual([]);
});
