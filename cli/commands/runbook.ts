import type { RunbookAnswer, RunbookEntry, RunbookOptions } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { notFound, usageError } from "../failure.js";
import { ago, counted } from "../figures.js";
import { pairs, table } from "../table.js";
import { plain, wrap } from "../text-width.js";
import type { Screen, View } from "../view.js";
import { withDefined } from "../with-defined.js";

type Options = { queue?: string; set?: readonly string[]; sql?: true };

export const command: CommandSpec = defineCommand<Options>({
  name: "runbook",
  summary: "run a support query, or show its SQL",
  about:
    "Runs a support query by its name, read-only, and says how to read the answer and what to do next. Without a name it lists the queries. docs/runbook.md has them all.",
  arguments: [{ name: "[name]", about: "which query" }],
  options: [
    { flags: "--queue <name>", about: "about which queue (inbox)" },
    { flags: "--set <name=value>", about: "a value that the query needs", isRepeatable: true },
    { flags: "--sql", about: "print the query for psql, and run nothing" },
  ],
  examples: [
    "leasehold runbook",
    "leasehold runbook oldest-due --queue inbox",
    "leasehold runbook line-of-key --set key=order:9182 --sql",
  ],
  isWatchable: true,
  async run(context, { args: [name], options }) {
    const { runbook, runbookSql } = await import("../../src/index.js");
    if (name === undefined) return listed(runbook);
    const entry = runbook.find((one) => one.name === name);
    if (entry === undefined)
      throw notFound(`The runbook has no query ${name}.`, "See what there is: leasehold runbook");
    const given: RunbookOptions = {
      ...withDefined({ queue: options.queue }),
      ...valuesOf(entry, options.set ?? []),
    };
    if (options.sql === true) {
      const sql = runbookSql(name, { ...given, ...withDefined({ schema: context.schema }) });
      return { data: { name, sql }, lines: () => sql.trimEnd().split("\n") };
    }
    checkComplete(entry, given);
    return answered(entry, await (await context.connect()).runbook(name, given));
  },
});

function listed(runbook: readonly RunbookEntry[]): View {
  return {
    data: runbook.map(({ name, title, when, parameters }) => ({ name, title, when, parameters })),
    lines: (screen) => [
      ...table(screen, runbook, [
        { title: "QUERY", value: ({ name }) => name },
        { title: "WHEN TO USE IT", value: ({ when }) => when, least: 20 },
      ]),
      "",
      "Run one: leasehold runbook oldest-due",
    ],
  };
}

function valuesOf(
  { name, parameters }: RunbookEntry,
  set: readonly string[],
): Readonly<Record<string, string>> {
  const pairsGiven = set.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw usageError(`--set ${text}: there is no name and value.`, "Write --set key=order:9182.");
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  for (const [given] of pairsGiven) {
    if (parameters.some((one) => one.name === given)) continue;
    const known = parameters.map((one) => one.name).join(", ");
    throw usageError(
      `The query ${name} takes no value ${given}.`,
      known === "" ? "Leave it out." : `It takes ${known}.`,
    );
  }
  return Object.fromEntries(pairsGiven);
}

function checkComplete({ name, parameters }: RunbookEntry, given: RunbookOptions): void {
  const missing = parameters.find((one) => given[one.name] === undefined);
  if (missing === undefined) return;
  const advice = `Add --set ${missing.name}=${missing.example} (${missing.meaning}).`;
  throw usageError(`The query ${name} needs a value for ${missing.name}.`, advice);
}

function answered(entry: RunbookEntry, { columns, rows }: RunbookAnswer): View {
  return {
    data: { name: entry.name, columns, rows },
    lines: (screen) => [
      screen.paint.bold(entry.title),
      "",
      ...(rows.length === 0
        ? ["No rows."]
        : [...rowLines(screen, columns, rows), "", counted(rows.length, "row")]),
      ...labelled(screen, "read", entry.read),
      ...labelled(screen, "next", entry.next),
    ],
  };
}

type Row = Readonly<Record<string, unknown>>;

/** A table when it fits, else a block for each row: a cut id is of no use. */
function rowLines(screen: Screen, columns: readonly string[], rows: readonly Row[]): readonly string[] {
  const cell = (row: Row, column: string): string => valueWords(row[column], screen.now);
  const isRight = (column: string): boolean =>
    rows.every((row) => typeof row[column] === "number" || row[column] === null);
  const natural = table(
    { ...screen, width: Number.POSITIVE_INFINITY },
    rows,
    columns.map((title) => ({
      title,
      value: (row) => cell(row, title),
      ...(isRight(title) ? { align: "right" as const } : {}),
    })),
  );
  if (natural.every((line) => line.length <= screen.width)) return natural;
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : [""]),
    ...pairs(
      screen,
      columns.map((column) => [column, cell(row, column)]),
    ),
  ]);
}

function valueWords(value: unknown, now: Date): string {
  if (value === null || value === undefined) return "-";
  if (value instanceof Date) return `${value.toISOString()} (${ago(value, now)})`;
  return plain(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function labelled(screen: Screen, label: string, words: string): readonly string[] {
  return ["", screen.paint.faint(label), ...wrap(words, screen.width, "  ")];
}
