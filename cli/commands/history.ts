import type { HistoryEntry } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { age, count } from "../figures.js";
import { durationMs, wholeNumber } from "../option-values.js";
import { table } from "../table.js";
import { withDefined } from "../with-defined.js";

type Options = {
  queue?: string;
  worker?: string;
  kind?: readonly string[];
  newer?: number;
  limit?: number;
  before?: string;
};

export const command: CommandSpec = defineCommand<Options>({
  name: "history",
  summary: "what happened to workers and queues, and by whom",
  about:
    "Lists what happened in the last week, newest first: workers joined, left and died, buckets moved, leases were lost, queues were paused and changed, jobs redriven and discarded, and by whom.",
  options: [
    { flags: "--queue <name>", about: "only this queue" },
    { flags: "--worker <id>", about: "only this worker" },
    { flags: "--kind <kind>", about: "only this kind, such as worker:dead", isRepeatable: true },
    { flags: "--newer <age>", about: "within: 10m, 2h, 7d", parse: durationMs },
    { flags: "--limit <rows>", about: "how many at most (20)", parse: wholeNumber },
    { flags: "--before <id>", about: "the last id of the page before" },
  ],
  examples: ["leasehold history --queue inbox --newer 1h", "leasehold history --kind worker:dead --json"],
  isWatchable: true,
  asksReplica: true,
  async run(context, { options: { queue, worker, kind, newer, before, limit = 20 } }) {
    const lh = await context.connect();
    const from = newer === undefined ? undefined : new Date(Math.max(0, context.now().getTime() - newer));
    const entries = await lh.history(withDefined({ queue, workerId: worker, kind, from, before, limit }));
    return {
      data: entries,
      lines: (screen) => {
        if (entries.length === 0) return ["Nothing happened, as far as is kept."];
        return [
          ...table(screen, entries, [
            { title: "AGO", value: ({ at }) => age(at, screen.now), align: "right" },
            { title: "WHAT", value: (entry) => entry.kind },
            {
              title: "COUNT",
              value: (entry) => (entry.count === null ? "" : count(entry.count)),
              align: "right",
              isOptional: true,
            },
            { title: "QUEUE", value: (entry) => entry.queue ?? "", least: 8, isOptional: true },
            { title: "WORKER", value: ({ workerId }) => workerId ?? "", least: 10, isOptional: true },
            { title: "BY", value: byWhom, least: 9 },
            { title: "DETAIL", value: detailWords, least: 12, isOptional: true, isExpendable: true },
          ]),
          ...(entries.length < limit ? [] : [`More: add --before ${entries.at(-1)?.id}`]),
        ];
      },
    };
  },
});

/** The role, which the server vouches for, and the person, where the connection tells: anybody can set that name. */
function byWhom({ actor, application }: HistoryEntry): string {
  const name = /^leasehold cli \((.*)\)$/.exec(application)?.[1];
  return name === undefined ? actor : `${actor} (${name})`;
}

function detailWords({ detail }: HistoryEntry): string {
  const isEmpty = (value: unknown): boolean => ["null", "[]", "{}", '""'].includes(JSON.stringify(value));
  return Object.entries(detail)
    .filter(([, value]) => !isEmpty(value))
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
