#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { exitCodes } from "./exit-codes.js";
import { run } from "./run.js";
import { processSurroundings } from "./surroundings.js";

const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };

const exitCode = await run(process.argv.slice(2), processSurroundings(version));
if (exitCode !== exitCodes.interrupted) await flushed();
// A worker file may have left a timer or a socket open, which would keep the process alive for ever.
process.exit(exitCode);

/** What was printed has been taken; then a write that failed has been told, too. */
async function flushed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write("", () => resolve()));
  await new Promise<void>((resolve) => setImmediate(resolve));
}
