import type { Breach } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { count, counted, span } from "../figures.js";
import { table } from "../table.js";
import { wrap } from "../text-width.js";
import type { Screen } from "../view.js";

export const command: CommandSpec = defineCommand({
  name: "audit",
  summary: "ask the rows whether the promises hold",
  about:
    "Asks the rows of every queue whether the promises hold, and names those that break one. Changes nothing. Ends with 1 when a promise is broken.",
  examples: ["leasehold audit", "leasehold audit --json | jq .breaches"],
  isWatchable: true,
  async run(context) {
    const lh = await context.connect();
    const report = await lh.audit();
    return {
      data: report,
      exitCode: report.breaches.length === 0 ? exitCodes.ok : exitCodes.failed,
      lines: (screen) => {
        const looked = `${counted(report.queues.length, "queue")} in ${span(report.tookMs)}`;
        if (report.queues.length === 0)
          return ["No queues yet. Create one: leasehold queues create inbox --order key"];
        if (report.breaches.length === 0)
          return [`${screen.paint.good("Every promise holds.")} Looked at ${looked}.`];
        const broken = counted(report.breaches.length, "promise is broken", "promises are broken");
        return [
          ...report.breaches.flatMap((breach) => [...breachLines(screen, breach), ""]),
          `${screen.paint.bad(broken)}. Looked at ${looked}.`,
        ];
      },
    };
  },
});

function breachLines(
  screen: Screen,
  { queue, rule, meaning, count: total, rows }: Breach,
): readonly string[] {
  const more = total > rows.length ? [`  and ${count(total - rows.length)} more`] : [];
  return [
    `${screen.paint.bad(rule)} in ${queue}: ${counted(total, "row breaks", "rows break")} this promise:`,
    ...wrap(meaning, screen.width, "  "),
    ...table({ ...screen, width: screen.width - 2 }, rows, [
      { title: "JOB", value: ({ id }) => id },
      { title: "KEY", value: ({ partitionKey }) => partitionKey, least: 8 },
      { title: "DETAIL", value: ({ detail }) => detail, least: 12 },
    ]).map((line) => `  ${line}`),
    ...more,
  ];
}
