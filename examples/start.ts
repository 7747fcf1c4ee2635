import { setTimeout as sleep } from "node:timers/promises";
import { LeaseholdError } from "../src/index.js";
import { AlreadyRunningError } from "./demo/company.js";
import { openDatabase } from "./demo/database.js";
import { eventLine, figuresLine, isBroken, isWorthALine, summary } from "./demo/lines.js";
import { Demo } from "./demo/run.js";
import { Terminal } from "./demo/terminal.js";
import { view } from "./demo/view.js";

/**
 * What `npm start` shows: a shop that makes orders, three worker processes that work on them, and what becomes of the promises when workers are killed,
 * added and drained. In a terminal as a live view, elsewhere as a line a second. LEASEHOLD_DEMO_SECONDS ends it after so long.
 */

const drawEveryMs = 250;
const lineEveryMs = 1_000;
const impatientMs = 1_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const stop = stopSignal();
  try {
    const database = await openDatabase(say);
    try {
      const demo = await Demo.prepare(database);
      const end = await (Terminal.isAvailable ? inTerminal(demo, stop) : inLines(demo, stop));
      for (const line of end) say(line);
    } finally {
      await database.stop();
    }
  } catch (error) {
    if (!(error instanceof LeaseholdError || error instanceof AlreadyRunningError)) throw error;
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
    process.stderr.write(`${error.message}${cause}\n`);
    process.exitCode = 1;
  }
}

/** Aborts at SIGINT, SIGTERM or the end of the time given. Who asks again, and is not npm passing on the same key press, ends it at once. */
function stopSignal(): AbortController {
  const stop = new AbortController();
  let askedAtMs = Number.POSITIVE_INFINITY;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (Date.now() - askedAtMs > impatientMs) process.exit(1);
      askedAtMs = Math.min(askedAtMs, Date.now());
      stop.abort();
    });
  }
  // Nobody reads on, as with `npm start | head`.
  process.stdout.on("error", () => stop.abort());
  return stop;
}

async function inTerminal(demo: Demo, stop: AbortController): Promise<readonly string[]> {
  const draw = (): void => terminal.draw(view(demo.figures.snapshot(), terminal.size));
  const acts: Readonly<Record<string, () => void>> = {
    k: () => demo.kill(),
    a: () => demo.add(),
    d: () => demo.drainOne(),
    p: () => void demo.pauseOrResume(),
    q: () => stop.abort(),
  };
  const terminal = new Terminal({
    onKey: (key) => {
      acts[key]?.();
      draw();
    },
    onResize: draw,
  });
  terminal.open();
  const drawing = setInterval(draw, drawEveryMs);
  try {
    return await untilStopped(demo, stop.signal);
  } finally {
    clearInterval(drawing);
    terminal.close();
  }
}

async function inLines(demo: Demo, stop: AbortController): Promise<readonly string[]> {
  demo.journal.onEntry = (entry) => {
    if (isWorthALine(entry)) say(eventLine(entry));
  };
  const telling = setInterval(() => say(figuresLine(demo.figures.snapshot())), lineEveryMs);
  try {
    return await untilStopped(demo, stop.signal);
  } finally {
    clearInterval(telling);
  }
}

/** Runs it until it is told to stop; returns the last words. */
async function untilStopped(demo: Demo, signal: AbortSignal): Promise<readonly string[]> {
  const seconds = Number(process.env.LEASEHOLD_DEMO_SECONDS);
  const forever = 2 ** 31 - 1;
  demo.start();
  await sleep(seconds > 0 ? seconds * 1_000 : forever, undefined, { signal }).catch(() => {});
  const end = await demo.stop();
  if (isBroken(end)) process.exitCode = 1;
  return summary(end);
}

await main();
