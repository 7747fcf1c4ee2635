import { type CommandSpec, defineCommand } from "../command.js";
import { endWithDev, isOfDev, sayEndToDev } from "../dev-worker.js";
import { wholeNumber } from "../option-values.js";
import { untilStopped } from "../running-workers.js";
import type { View } from "../view.js";
import { watchEnds } from "../worker-end.js";
import { loadWorkers } from "../worker-file.js";

export const command: CommandSpec = defineCommand<{ concurrency?: number; id?: string; verbose?: true }>({
  name: "worker",
  summary: "run the worker of a file",
  about:
    "Runs the worker of a module until it is told to stop. The module's default export is a function (lh) => worker or workers, or it exports queue, handlers and, if needed, options. SIGTERM and Ctrl-C drain it: what runs finishes, the rest is handed back; a second signal ends it at once. It ends with 1 when something else stopped it: its queue was dropped, another process has its id, or the schema needs a newer version.",
  arguments: [{ name: "<file>", about: "an ES module, such as worker.mjs" }],
  options: [
    {
      flags: "--concurrency <number>",
      about: "handlers at a time, if the module does not say",
      parse: wholeNumber,
    },
    { flags: "--id <id>", about: "worker id (or WORKER_ID; host and pid)" },
    { flags: "--verbose", about: "print what goes well too" },
  ],
  examples: ["leasehold worker worker.mjs", "leasehold worker dist/worker.js --concurrency 16 --json"],
  ownsSignals: true,
  streams: true,
  async run(context, { args: [file = ""], options }) {
    endWithDev(context.environment);
    const { lh, workers } = await loadWorkers(context, file, options).catch((error: unknown) => {
      // Node's watcher only says that it failed, and then looks as if it did nothing.
      if (isOfDev(context.environment))
        context.note("The worker did not start. Change the file, and leasehold dev starts it again.");
      throw error;
    });
    sayEndToDev(context.environment, context.note);
    const checkEnds = watchEnds(lh);
    const ended = (): View => {
      checkEnds();
      return {
        data: { workerId: lh.workerId, stopped: true },
        lines: () => ["Drained. Every job is settled or handed back."],
      };
    };
    context.atExit(ended);
    await untilStopped(context, workers);
    return ended();
  },
});
