import { type CommandSpec, defineCommand } from "../command.js";
import { age, count, counted } from "../figures.js";
import { type Problem, problemsOf, type QueueState, readStates } from "../queue-state.js";
import { type Column, table } from "../table.js";
import { cut, plain } from "../text-width.js";
import type { Screen } from "../view.js";

export const command: CommandSpec = defineCommand<{ exact?: true }>({
  name: "status",
  summary: "all queues at a glance, problems first",
  about:
    "Shows every queue: how much waits, since when, what fails, and who works on it. Counts of large tables are estimates (~) unless --exact is given.",
  options: [{ flags: "--exact", about: "count every row of large tables too" }],
  examples: ["leasehold status", "leasehold status --watch 5", "leasehold status --json | jq .problems"],
  isWatchable: true,
  async run(context, { options }) {
    const lh = await context.connect();
    const states = await readStates(lh, options.exact === true);
    const now = context.now();
    const problems = states.flatMap((state) => problemsOf(state, now));
    const rank = (name: string): number => (problems.some(({ queue }) => queue === name) ? 0 : 1);
    const queues = [...states].sort((one, other) => rank(one.name) - rank(other.name));
    return {
      data: { schema: lh.schema, problems, queues },
      lines: (screen) => {
        if (queues.length === 0)
          return ["No queues yet. Create one: leasehold queues create inbox --order key"];
        return [...problemLines(screen, problems), ...table(screen, queues, columns(screen))];
      },
    };
  },
});

function problemLines(screen: Screen, problems: readonly Problem[]): readonly string[] {
  if (problems.length === 0) return [screen.paint.good("No problems."), ""];
  const tint = (severity: Problem["severity"], text: string): string =>
    severity === "bad" ? screen.paint.bad(text) : screen.paint.warn(text);
  const sorted = [...problems].sort((one, other) => one.severity.localeCompare(other.severity));
  return [
    screen.paint.bold(`${counted(problems.length, "problem")}:`),
    ...sorted.flatMap(({ queue, severity, message, advice }) => [
      `  ${tint(severity, cut(plain(`${queue}: ${message}`), screen.width - 2))}`,
      `    ${screen.paint.faint(cut(plain(advice), screen.width - 4))}`,
    ]),
    "",
  ];
}

function columns({ now, paint }: Screen): readonly Column<QueueState>[] {
  const counts = ({ share }: QueueState, value: number): string =>
    value === 0 ? "0" : `${share < 1 ? "~" : ""}${count(value)}`;
  return [
    { title: "QUEUE", value: ({ name }) => name, least: 10 },
    { title: "DEPTH", value: (row) => counts(row, row.depth), align: "right" },
    { title: "DUE", value: (row) => counts(row, row.due), align: "right" },
    { title: "OLDEST", value: ({ oldestDueAt }) => age(oldestDueAt, now), align: "right" },
    { title: "RUNNING", value: (row) => counts(row, row.processing), align: "right" },
    { title: "RETRY", value: (row) => counts(row, row.retrying), align: "right" },
    {
      title: "DEAD",
      value: (row) => counts(row, row.deadLetter),
      align: "right",
      tint: (row, cell) => (row.deadLetter > 0 ? paint.warn(cell) : cell),
    },
    {
      title: "WORKERS",
      value: ({ workers }) => count(workers),
      align: "right",
      tint: (row, cell) => (row.workers === 0 ? paint.warn(cell) : cell),
    },
    {
      title: "PAUSED",
      value: ({ pausedAt }) => (pausedAt === null ? "" : age(pausedAt, now)),
      align: "right",
      tint: (_, cell) => paint.warn(cell),
      isOptional: true,
    },
  ];
}
