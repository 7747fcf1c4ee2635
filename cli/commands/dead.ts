import type { DeadLetterGroup, Leasehold, Queue } from "../../src/index.js";
import { countWords, type Matching } from "../bulk-count.js";
import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { notFound, usageError } from "../failure.js";
import { age, count, counted } from "../figures.js";
import { wholeNumber } from "../option-values.js";
import { table } from "../table.js";
import { unlessDropped } from "../unless-dropped.js";
import { stored } from "../utf8.js";
import type { View } from "../view.js";
import { withDefined } from "../with-defined.js";

type Row = DeadLetterGroup & { readonly queue: string };

const groupsMax = 1_000;

const queueArgument = { name: "<queue>", about: "name of the queue" };
const fingerprintArgument = { name: "<fingerprint>", about: "which error, as leasehold dead prints it" };
const kindOption = { flags: "--kind <kind>", about: "only this kind" };

type ListOptions = { kind?: string; limit?: number; cursor?: string };

const list = defineCommand<ListOptions>({
  name: "list",
  summary: "dead letters by kind and error",
  about:
    "Groups dead letters by kind and by fingerprint: a hash of the error without what differs from job to job. Looks at the newest ones, a bounded number, and says how many.",
  arguments: [{ name: "[queue]", about: "name of the queue; all when left out" }],
  options: [
    kindOption,
    { flags: "--limit <groups>", about: "how many groups at most (20)", parse: wholeNumber },
    { flags: "--cursor <cursor>", about: "go on with older ones, of one queue" },
  ],
  examples: ["leasehold dead", "leasehold dead list inbox --kind receipt.send --json"],
  isDefault: true,
  isWatchable: true,
  asksReplica: true,
  async run(context, { args: [name], options: { kind, limit = 20, cursor } }) {
    if (cursor !== undefined && name === undefined)
      throw usageError("A cursor belongs to one queue.", "Name the queue.");
    const lh = await context.connect();
    const found = await groupsOf(lh, name, withDefined({ kind, limit, cursor }));
    return {
      data: found,
      lines: (screen) => {
        const { groups, looked } = found;
        const more = found.cursor === null ? [] : [`Older ones: add --cursor ${found.cursor}`];
        if (groups.length === 0)
          return [`${noneWords(found)}${name === undefined ? "" : ` in ${name}`}.`, ...more];
        const [first] = groups;
        const left = found.omitted === 0 ? "" : `, ${counted(found.omitted, "smaller one")} left out`;
        return [
          ...table(screen, groups, [
            {
              title: "QUEUE",
              value: ({ queue }) => (name === undefined ? queue : ""),
              isOptional: true,
              least: 8,
            },
            { title: "FINGERPRINT", value: ({ fingerprint }) => fingerprint },
            { title: "COUNT", value: (group) => count(group.count), align: "right" },
            { title: "LAST", value: ({ lastAt }) => age(lastAt, screen.now), align: "right" },
            { title: "KIND", value: ({ kind: one }) => one, least: 10 },
            { title: "ERROR", value: ({ error }) => error ?? "-", least: 16 },
          ]),
          "",
          `${counted(groups.length, "group")}${left}, looked at ${counted(looked, "dead letter")}.`,
          `Another round: leasehold dead redrive ${first?.queue} ${first?.fingerprint}`,
          ...more,
        ];
      },
    };
  },
});

type ActOptions = { kind?: string; yes?: true; reason?: string };

const redrive = defineCommand<ActOptions>({
  name: "redrive",
  summary: "give a group another round, in order",
  arguments: [queueArgument, fingerprintArgument],
  options: [kindOption],
  examples: [
    "leasehold dead redrive inbox 3f9a1c02b7de",
    "leasehold dead redrive inbox 3f9a1c02b7de --kind receipt.send --yes",
  ],
  asks: true,
  run: (context, { args, options }) => act(context, { verb: "redrive", args, options }),
});

const discard = defineCommand<ActOptions>({
  name: "discard",
  summary: "give up a group for good",
  arguments: [queueArgument, fingerprintArgument],
  options: [
    kindOption,
    {
      flags: "--reason <text>",
      about: "stored with the jobs",
      parse: (text) => stored("The reason", text),
    },
  ],
  examples: ['leasehold dead discard inbox 3f9a1c02b7de --reason "customer is gone" --yes'],
  asks: true,
  run: (context, { args, options }) => act(context, { verb: "discard", args, options }),
});

export const command: CommandSpec = defineCommand({
  name: "dead",
  summary: "dead letters by kind and error; redrive, discard",
  examples: ["leasehold dead inbox", "leasehold dead redrive inbox 3f9a1c02b7de"],
  subcommands: [list, redrive, discard],
});

interface Found {
  readonly groups: readonly Row[];
  readonly omitted: number;
  readonly looked: number;
  readonly cursor: string | null;
}

/** Of one queue, or of all, the largest groups first. */
async function groupsOf(
  lh: Leasehold,
  name: string | undefined,
  options: { readonly kind?: string; readonly limit?: number; readonly cursor?: string },
): Promise<Found> {
  const names = name === undefined ? (await lh.queues()).map((queue) => queue.name) : [name];
  const groups: Row[] = [];
  let [omitted, looked, cursor] = [0, 0, null as string | null];
  for (const one of names) {
    const asked = lh.queue(one).then((queue) => queue.deadLetters(options));
    const page = name === undefined ? await unlessDropped(asked) : await asked;
    if (page === null) continue;
    groups.push(...page.groups.map((group) => ({ queue: one, ...group })));
    omitted += page.omitted;
    looked += page.looked;
    if (name !== undefined) cursor = page.cursor;
  }
  const largest = groups.sort((one, other) => other.count - one.count).slice(0, options.limit);
  return { groups: largest, omitted: omitted + groups.length - largest.length, looked, cursor };
}

function noneWords({ cursor, looked }: Found): string {
  return cursor === null ? "No dead letters" : `None among the newest ${counted(looked, "dead letter")}`;
}

interface Act {
  readonly verb: "redrive" | "discard";
  readonly args: readonly string[];
  readonly options: ActOptions;
}

async function act(
  context: Context,
  { verb, args: [name = "", fingerprint = ""], options }: Act,
): Promise<View> {
  const queue = await (await context.connect()).queue(name);
  const { kind, yes, reason } = options;
  const found = await sizeOf(queue, fingerprint, kind);
  if (found.count === 0 && !found.isPart)
    throw notFound(
      `No dead letter of ${name} has the fingerprint ${fingerprint}.`,
      `See what there is: leasehold dead ${name}`,
    );
  await context.confirm(`This ${verb}s ${countWords(found)} of ${name}.`, yes);
  const filter = { fingerprint, ...withDefined({ kind }) };
  const done = verb === "redrive" ? "redriven" : "discarded";
  const progress = context.progress(done);
  const changed =
    verb === "redrive"
      ? await queue.retry(filter, progress)
      : await queue.discard({ ...filter, ...withDefined({ reason }) }, progress);
  return {
    data: { queue: name, fingerprint, [done]: changed },
    exitCode: changed === 0 ? exitCodes.notFound : exitCodes.ok,
    lines: () => [`${verb === "redrive" ? "Redriven" : "Discarded"}: ${count(changed)}.`],
  };
}

/** How many there are among the newest dead letters, as many as one call looks at. */
async function sizeOf(queue: Queue, fingerprint: string, kind: string | undefined): Promise<Matching> {
  const page = await queue.deadLetters({ ...withDefined({ kind }), limit: groupsMax });
  const own = page.groups.filter((group) => group.fingerprint === fingerprint);
  const total = own.reduce((sum, group) => sum + group.count, 0);
  return { count: total, isPart: page.cursor !== null || page.omitted > 0, what: "dead letter" };
}
