#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { exitCodes } from "./exit-codes.js";
import { run } from "./run.js";
import { processSurroundings } from "./surroundings.js";

const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };

const exitCode = await run(process.argv.slice(2), processSurroundings(version));
if (exitCode === exitCodes.interrupted) process.exit(exitCode);
process.exitCode = exitCode;
