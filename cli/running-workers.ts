import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "./command.js";
import type { Startable } from "./worker-file.js";

const lookMs = 250;

/** Starts what was not started by its file, and stays until all of it has stopped. Signals are the library's: they drain, then end the process. */
export async function untilStopped(context: Context, workers: readonly Startable[]): Promise<void> {
  for (const worker of workers) if (worker.state === "new") await worker.start();
  if (!context.isJson) context.note("Ctrl-C drains and stops.");
  while (workers.some(({ state }) => state !== "stopped")) await sleep(lookMs);
}
