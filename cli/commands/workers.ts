import type { Leasehold, WorkerRow } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { CliError } from "../failure.js";
import { age, counted, span } from "../figures.js";
import { type Column, table } from "../table.js";
import type { Screen } from "../view.js";
import { withDefined } from "../with-defined.js";

const workerArgument = { name: "<worker>", about: "id of the worker" };
const noWorkers = "No workers are registered. Start one: leasehold worker worker.mjs";

const list = defineCommand<{ all?: true; queue?: string }>({
  name: "list",
  summary: "who works, where and on what",
  options: [
    { flags: "--all", about: "also those that left or were declared dead" },
    { flags: "--queue <name>", about: "only workers on this queue" },
  ],
  examples: ["leasehold workers", "leasehold workers list --all --json"],
  isDefault: true,
  isWatchable: true,
  async run(context, { options }) {
    const all = await (await context.connect()).workers();
    const rows = all.filter(
      (worker) =>
        (options.all === true || isHere(worker)) &&
        (options.queue === undefined || worker.queues.includes(options.queue)),
    );
    const hidden = all.length - rows.length;
    return {
      data: rows,
      lines: (screen) => {
        const more = hidden === 0 ? [] : [`${counted(hidden, "other")}: leasehold workers list --all`];
        if (rows.length === 0) return [noWorkers, ...more];
        return [...table(screen, rows, columns(screen)), ...failingLines(rows), ...more];
      },
    };
  },
});

const drain = defineCommand<{ yes?: true }>({
  name: "drain",
  summary: "ask a worker to stop in good order",
  about:
    "Asks a worker to stop in good order: its buckets move, what runs finishes, the rest is handed back. It finds the request with its next heartbeat, within 10 s. What starts its process again decides whether it comes back.",
  arguments: [workerArgument],
  examples: ["leasehold workers drain web-1:4711", "leasehold workers drain web-1:4711 --yes"],
  asks: true,
  async run(context, { args: [id = ""], options }) {
    const lh = await context.connect();
    const buckets = await bucketsOwned(lh, id);
    await context.confirm(`This asks ${id} to stop; ${counted(buckets, "bucket")} move.`, options.yes);
    await lh.drain(id);
    return {
      data: { worker: id, asked: true, buckets },
      lines: () => [`${id} was asked to drain. See it leave: leasehold workers --watch`],
    };
  },
});

const evict = defineCommand<{ yes?: true }>({
  name: "evict",
  summary: "declare a worker dead",
  about:
    "Marks a worker dead: its buckets move and its jobs are taken over. A worker that lives registers again by itself; to stop one, drain it or end its process.",
  arguments: [workerArgument],
  examples: ["leasehold workers evict web-1:4711", "leasehold workers evict web-1:4711 --yes"],
  asks: true,
  async run(context, { args: [id = ""], options }) {
    const lh = await context.connect();
    const buckets = await bucketsOwned(lh, id);
    await context.confirm(
      `This declares ${id} dead: ${counted(buckets, "bucket")} move and its jobs run again.`,
      options.yes,
    );
    await lh.evict(id);
    return {
      data: { worker: id, evicted: true, buckets },
      lines: () => [`${id} is declared dead; ${counted(buckets, "bucket")} moved.`],
    };
  },
});

export const command: CommandSpec = defineCommand({
  name: "workers",
  summary: "list, drain, evict",
  examples: ["leasehold workers", "leasehold workers evict web-1:4711"],
  subcommands: [list, drain, evict],
});

function isHere({ state }: WorkerRow): boolean {
  return state === "alive" || state === "draining";
}

/** What would move. Nobody is asked about a worker that is not there. */
async function bucketsOwned(lh: Leasehold, id: string): Promise<number> {
  const worker = (await lh.workers()).find((one) => one.id === id && isHere(one));
  if (worker === undefined)
    throw new CliError("LH_UNKNOWN_WORKER", exitCodes.notFound, {
      message: `No live worker has the id ${id}.`,
      advice: "See who is there: leasehold workers",
    });
  let owned = 0;
  for (const queue of worker.queues) {
    const { owners } = await lh.ring(queue);
    owned += owners.filter((owner) => owner === id).length;
  }
  return owned;
}

function columns({ now, paint }: Screen): readonly Column<WorkerRow>[] {
  const isBad = ({ state, expiresInMs, failing }: WorkerRow): boolean =>
    state === "dead" || expiresInMs <= 0 || Object.keys(failing).length > 0;
  return [
    { title: "WORKER", value: ({ id }) => id, least: 16 },
    {
      title: "STATE",
      value: stateOf,
      tint: (row, cell) => {
        if (isBad(row)) return paint.bad(cell);
        return row.state === "alive" ? paint.good(cell) : cell;
      },
    },
    { title: "QUEUES", value: ({ queues }) => queues.join(","), least: 8 },
    { title: "REGION", value: ({ region }) => region ?? "", isOptional: true },
    { title: "VERSION", value: ({ metadata }) => versionOf(metadata), isOptional: true, least: 7 },
    { title: "UP", value: (row) => (isHere(row) ? age(row.startedAt, now) : "-"), align: "right" },
    { title: "SEEN", value: ({ lastSeenAt }) => `${age(lastSeenAt, now)} ago`, align: "right" },
    {
      title: "TTL LEFT",
      value: ttlLeft,
      align: "right",
    },
  ];
}

function ttlLeft(row: WorkerRow): string {
  if (!isHere(row)) return "-";
  return row.expiresInMs > 0 ? span(row.expiresInMs) : "over";
}

function stateOf({ state, failing, expiresInMs }: WorkerRow): string {
  if (state === "alive" && Object.keys(failing).length > 0) return "failing";
  return state === "alive" && expiresInMs <= 0 ? "silent" : state;
}

function versionOf(metadata: Readonly<Record<string, unknown>>): string {
  const { version } = withDefined({ version: metadata.version });
  return typeof version === "string" ? version : "";
}

function failingLines(rows: readonly WorkerRow[]): readonly string[] {
  return rows.flatMap(({ id, failing }) =>
    Object.entries(failing).map(
      ([queue, { what, reason, since }]) =>
        `${id}: every ${what} on ${queue} has failed since ${since.toISOString()}: ${reason}`,
    ),
  );
}
