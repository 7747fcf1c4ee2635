import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { inject, onTestFinished, test } from "vitest";
import { setup } from "../support/world.js";

/** Every TypeScript block of the README and the docs runs, in order, against a database of its own. */
const pages = [
  "README.md",
  ...[
    ...[
      "connecting",
      "doctor",
      "enqueueing",
      "errors",
      "metrics",
      "operating",
      "replicas",
      "runbook",
      "tenants",
    ],
    ...["transactions", "tuning", "workers"],
  ].map((page) => `docs/${page}.md`),
];
const root = new URL("../../", import.meta.url);

test.each(pages)("the examples in %s run", async (page) => {
  const world = await setup();
  await world.queue();
  const folder = new URL(`test/docs/.snippets/${page.replaceAll(/\W/g, "-")}/`, root);
  await mkdir(folder, { recursive: true });
  const environment = { ...process.env };
  process.env.DATABASE_URL = inject("databaseUrl");
  process.env.REPLICA_URL = process.env.DATABASE_URL;
  process.env.LEASEHOLD_SCHEMA = world.schema;
  onTestFinished(async () => {
    process.env = environment;
    await rm(folder, { recursive: true });
  });
  const text = await readFile(new URL(page, root), "utf8");
  const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? "");
  for (const [i, block] of blocks.entries()) {
    const file = new URL(`example-${i}.ts`, folder);
    const code = block
      .replaceAll('"leasehold"', '"../../../../src/index.js"')
      .replaceAll(/"leasehold\/(\w+)"/g, '"../../../../src/$1.js"');
    await writeFile(file, code);
    await import(file.href);
  }
});
