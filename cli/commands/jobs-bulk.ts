import type { JobStatus } from "../../src/index.js";
import { countWords, matching } from "../bulk-count.js";
import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { count } from "../figures.js";
import { keyOption, kindOption, limitOption, queueArgument, statusOption } from "../job-options.js";
import type { View } from "../view.js";
import { withDefined } from "../with-defined.js";

type BulkOptions = {
  status?: JobStatus;
  kind?: string;
  key?: string;
  limit?: number;
  yes?: true;
  reason?: string;
};

export const redriveCommand: CommandSpec = defineCommand<BulkOptions>({
  name: "redrive",
  summary: "give dead letters another round",
  about:
    "Gives dead letters another round, in order. By ids, or all that the filter selects. --status pending makes jobs that wait for a retry due now.",
  arguments: [queueArgument, { name: "[ids...]", about: "ids of jobs" }],
  options: [statusOption, kindOption, keyOption, limitOption],
  examples: [
    "leasehold jobs redrive inbox 01890a5d-ac96-774b-bcce-b302099a8057",
    "leasehold jobs redrive inbox --kind receipt.send --yes",
  ],
  asks: true,
  run: (context, { args, options }) => bulk(context, { verb: "redrive", args, options }),
});

export const discardCommand: CommandSpec = defineCommand<BulkOptions>({
  name: "discard",
  summary: "give up jobs for good",
  about:
    "Moves dead letters to the archive as discarded: they never run. By ids, or all that the filter selects. Other jobs only by id, or with --status.",
  arguments: [queueArgument, { name: "[ids...]", about: "ids of jobs" }],
  options: [
    statusOption,
    kindOption,
    keyOption,
    limitOption,
    { flags: "--reason <text>", about: "stored with the jobs" },
  ],
  examples: [
    'leasehold jobs discard inbox --key order:9182 --reason "paid by hand"',
    "leasehold jobs discard inbox --status pending --kind report.make --yes",
  ],
  asks: true,
  run: (context, { args, options }) => bulk(context, { verb: "discard", args, options }),
});

interface Bulk {
  readonly verb: "redrive" | "discard";
  readonly args: readonly string[];
  readonly options: BulkOptions;
}

async function bulk(context: Context, { verb, args: [name = "", ...ids], options }: Bulk): Promise<View> {
  const queue = await (await context.connect()).queue(name);
  const { status = "dead_letter", kind, key, limit, yes, reason } = options;
  const chosen = ids.length === 0 ? { status } : { ids, ...withDefined({ status: options.status }) };
  const filter = { ...chosen, ...withDefined({ kind, partitionKey: key, limit }) };
  const found = await matching(queue, { status, ...filter });
  if (found.count === 0 && !found.isPart) return changedView({ verb, name, changed: 0, isMissing: false });
  await context.confirm(`This ${verb}s ${countWords(found)} of ${name}.`, yes);
  const progress = context.progress(verb === "redrive" ? "redriven" : "discarded");
  const changed =
    verb === "redrive"
      ? await queue.retry(filter, progress)
      : await queue.discard({ ...filter, ...withDefined({ reason }) }, progress);
  return changedView({ verb, name, changed, isMissing: changed === 0 && ids.length > 0 });
}

interface Changed {
  readonly verb: Bulk["verb"];
  readonly name: string;
  readonly changed: number;
  readonly isMissing: boolean;
}

function changedView({ verb, name, changed, isMissing }: Changed): View {
  const done = verb === "redrive" ? "redriven" : "discarded";
  return {
    data: { queue: name, [done]: changed },
    exitCode: isMissing ? exitCodes.notFound : exitCodes.ok,
    lines: () => [`${verb === "redrive" ? "Redriven" : "Discarded"}: ${count(changed)}.`],
  };
}
