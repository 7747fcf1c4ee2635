import type { JobFilter, JobStatus, Queue } from "../../src/index.js";
import { countWords, matching } from "../bulk-count.js";
import { chosenJobs, noneChanges, stillThere, type Unchanged } from "../chosen-jobs.js";
import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { count, counted } from "../figures.js";
import { keyOption, kindOption, limitOption, queueArgument, statusOption } from "../job-options.js";
import { stored } from "../utf8.js";
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
    "Gives dead letters another round, in order. By ids, or all that the filter selects. --status pending makes jobs that wait for a retry due now. Of ids that can't be changed it says why; when none can, it ends with 3 (not found) or 4.",
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
    "Moves dead letters to the archive as discarded: they never run. By ids, or all that the filter selects. Other jobs only by id, or with --status. Of ids that can't be changed it says why; when none can, it ends with 3 (not found) or 4.",
  arguments: [queueArgument, { name: "[ids...]", about: "ids of jobs" }],
  options: [
    statusOption,
    kindOption,
    keyOption,
    limitOption,
    {
      flags: "--reason <text>",
      about: "stored with the jobs",
      parse: (text) => stored("The reason", text),
    },
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

async function bulk(context: Context, given: Bulk): Promise<View> {
  const [name = "", ...ids] = given.args;
  const queue = await (await context.connect()).queue(name);
  return ids.length > 0 ? await byIds(context, queue, given) : await byFilter(context, queue, given);
}

async function byIds(context: Context, queue: Queue, given: Bulk): Promise<View> {
  const { verb, args, options } = given;
  const { status, kind, key, limit, yes } = options;
  const wanted = { verb, ids: args.slice(1), status, kind, key, now: context.now() };
  const { ids, unchanged } = await chosenJobs(queue, wanted);
  const left = unchanged.length === 0 ? "" : `; ${count(unchanged.length)} can't be changed`;
  await context.confirm(`This ${verb}s ${counted(ids.length, "job")} of ${queue.name}${left}.`, yes);
  const changed = await run(context, queue, given, { ...filterOf(options), ...withDefined({ status }), ids });
  const isAll = changed >= Math.min(ids.length, limit ?? ids.length);
  const later = isAll || verb === "redrive" ? [] : await stillThere(queue, ids);
  const all = [...unchanged, ...later];
  if (changed === 0 && all.length > 0) throw noneChanges(queue.name, all);
  return changedView({ verb, name: queue.name, changed, unchanged: all });
}

async function byFilter(context: Context, queue: Queue, given: Bulk): Promise<View> {
  const { verb, options } = given;
  const filter = { ...filterOf(options), status: options.status ?? "dead_letter" };
  const found = await matching(queue, filter);
  const common = { verb, name: queue.name, unchanged: [] };
  if (found.count === 0 && !found.isPart) return changedView({ ...common, changed: 0 });
  await context.confirm(`This ${verb}s ${countWords(found)} of ${queue.name}.`, options.yes);
  return changedView({ ...common, changed: await run(context, queue, given, filter) });
}

function filterOf({ kind, key, limit }: BulkOptions): JobFilter {
  return withDefined({ kind, partitionKey: key, limit });
}

async function run(
  context: Context,
  queue: Queue,
  { verb, options: { reason } }: Bulk,
  filter: JobFilter,
): Promise<number> {
  const progress = context.progress(doneWords[verb]);
  if (verb === "redrive") return await queue.retry(filter, progress);
  return await queue.discard({ ...filter, ...withDefined({ reason }) }, progress);
}

const doneWords = { redrive: "redriven", discard: "discarded" } as const;

interface Changed {
  readonly verb: Bulk["verb"];
  readonly name: string;
  readonly changed: number;
  readonly unchanged: readonly Unchanged[];
}

function changedView({ verb, name, changed, unchanged }: Changed): View {
  return {
    data: { queue: name, [doneWords[verb]]: changed, unchanged },
    lines: () => [
      `${verb === "redrive" ? "Redriven" : "Discarded"}: ${count(changed)}.`,
      ...unchanged.map(({ id, words }) => `Not changed: ${id}: ${words}.`),
    ],
  };
}
