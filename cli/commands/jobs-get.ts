import type { JobRecord } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { notFound } from "../failure.js";
import { jobLines } from "../job-lines.js";
import { idArgument, queueArgument } from "../job-options.js";
import { wrap } from "../text-width.js";

export const getCommand: CommandSpec = defineCommand({
  name: "get",
  summary: "one job with everything that is known of it",
  arguments: [queueArgument, idArgument],
  examples: ["leasehold jobs get inbox 01890a5d-ac96-774b-bcce-b302099a8057"],
  isWatchable: true,
  async run(context, { args: [name = "", id = ""] }) {
    const job: JobRecord | null = await (await (await context.connect()).queue(name)).get(id);
    if (job === null)
      throw notFound(
        `There is no job ${id} in ${name}.`,
        "It never existed, or it finished longer ago than the retention.",
      );
    return { data: job, lines: (screen) => jobLines(screen, job) };
  },
});

export const whyCommand: CommandSpec = defineCommand({
  name: "why",
  summary: "why a job is not running, in words",
  arguments: [queueArgument, idArgument],
  examples: ["leasehold jobs why inbox 01890a5d-ac96-774b-bcce-b302099a8057"],
  isWatchable: true,
  async run(context, { args: [name = "", id = ""] }) {
    const found = await (await (await context.connect()).queue(name)).why(id);
    return {
      data: found,
      exitCode: found.reason === "unknown" ? exitCodes.notFound : exitCodes.ok,
      lines: (screen) => [screen.paint.bold(found.reason), ...wrap(found.words, screen.width)],
    };
  },
});
