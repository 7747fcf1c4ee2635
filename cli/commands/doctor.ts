import type { Finding } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { counted, span } from "../figures.js";
import { wrap } from "../text-width.js";
import type { Screen } from "../view.js";

export const command: CommandSpec = defineCommand({
  name: "doctor",
  summary: "name what is wrong, the cause first",
  about:
    "Looks at the server, the fleet and every queue, and names what is wrong, the cause first, with evidence and the first thing to do. Changes nothing. Ends with 1 when something is critical.",
  examples: ["leasehold doctor", "leasehold doctor --json | jq '.findings[0]'", "leasehold doctor --watch 5"],
  isWatchable: true,
  async run(context) {
    const lh = await context.connect();
    // Loaded here, because the library is not loaded before a command needs it.
    const { diagnose } = await import("../../src/index.js");
    const diagnosis = await diagnose(lh);
    const { findings, queues, tookMs } = diagnosis;
    const isCritical = findings.some(({ severity }) => severity === "critical");
    return {
      data: diagnosis,
      exitCode: isCritical ? exitCodes.failed : exitCodes.ok,
      lines: (screen) => {
        const looked = `Looked at ${counted(queues.length, "queue")} in ${span(tookMs)}.`;
        if (findings.length === 0) return [`${screen.paint.good("Nothing is wrong.")} ${looked}`];
        return [
          ...findings.flatMap((finding) => [...findingLines(screen, finding), ""]),
          `${counted(findings.length, "finding")}. ${looked}`,
        ];
      },
    };
  },
});

function findingLines(screen: Screen, { severity, code, words, advice, link }: Finding): readonly string[] {
  const { paint, width } = screen;
  const painted = { critical: paint.bad, warning: paint.warn, info: (text: string): string => text };
  return [
    painted[severity](`${severity} ${code}`),
    ...wrap(words, width, "  "),
    ...wrap(advice, width, "  "),
    `  ${link}`,
  ];
}
