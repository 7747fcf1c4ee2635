import type { JobStatus } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { counted } from "../figures.js";
import { jobColumns } from "../job-lines.js";
import { keyOption, kindOption, limitOption, queueArgument, statusOption } from "../job-options.js";
import { durationMs, jsonObject } from "../option-values.js";
import { table } from "../table.js";
import { withDefined } from "../with-defined.js";

type ListOptions = {
  status?: JobStatus;
  kind?: string;
  key?: string;
  worker?: string;
  older?: number;
  newer?: number;
  error?: string;
  fingerprint?: string;
  payload?: Readonly<Record<string, unknown>>;
  limit?: number;
  cursor?: string;
};

export const listCommand: CommandSpec = defineCommand<ListOptions>({
  name: "list",
  summary: "jobs, newest first",
  about:
    "Lists jobs, newest first. A search without an index looks at a bounded number of rows, says how far it got, and gives the cursor to go on with.",
  arguments: [queueArgument],
  options: [
    statusOption,
    kindOption,
    keyOption,
    { flags: "--worker <id>", about: "only those that it holds, completed or was last to fail" },
    { flags: "--older <age>", about: "created longer ago than: 10m, 2h, 7d", parse: durationMs },
    { flags: "--newer <age>", about: "created within: 10m, 2h, 7d", parse: durationMs },
    { flags: "--error <text>", about: "text in the last error" },
    { flags: "--fingerprint <hash>", about: "dead letters of a group of leasehold dead" },
    { flags: "--payload <json>", about: `what the payload contains: '{"order": 9182}'`, parse: jsonObject },
    { ...limitOption, about: "how many at most (20)" },
    { flags: "--cursor <cursor>", about: "go on where the page before ended" },
  ],
  examples: [
    "leasehold jobs list inbox --status processing --older 10m",
    `leasehold jobs list inbox --payload '{"order": 9182}'`,
    'leasehold jobs list inbox --status dead_letter --error "no such order" --json',
  ],
  isDefault: true,
  isWatchable: true,
  asksReplica: true,
  async run(context, { args: [name = ""], options }) {
    const queue = await (await context.connect()).queue(name);
    const {
      key,
      worker,
      older,
      newer,
      limit = 20,
      status,
      kind,
      error,
      fingerprint,
      payload,
      cursor,
    } = options;
    const page = await queue.search(
      withDefined({
        ...{ status, kind, partitionKey: key, workerId: worker, olderThanMs: older, newerThanMs: newer },
        ...{ error, fingerprint, payload, limit, cursor },
      }),
    );
    return {
      data: page,
      lines: (screen) => {
        const more = page.cursor === null ? [] : [`More: add --cursor ${page.cursor}`];
        const looked = `looked at ${counted(page.looked, "row")}`;
        if (page.jobs.length === 0)
          return [page.cursor === null ? `No such job; ${looked}.` : `Nothing yet; ${looked}.`, ...more];
        return [
          ...table(screen, page.jobs, jobColumns(screen, status !== undefined)),
          "",
          `${counted(page.jobs.length, "job")}, ${looked}.`,
          ...more,
        ];
      },
    };
  },
});
