import { type CommandSpec, defineCommand } from "../command.js";
import { allDrills } from "../drills/all-drills.js";
import { runDrill } from "../drills/run-drill.js";
import { notFound } from "../failure.js";
import { table } from "../table.js";
import type { View } from "../view.js";

type Options = { hold?: true; yes?: true };

export const command: CommandSpec = defineCommand<Options>({
  name: "drill",
  summary: "practice on a real incident: find it and fix it",
  about:
    "Makes a real incident on a throw-away PostgreSQL with real worker processes, and walks you through finding and fixing it: the commands that a person would run, their output, and how to read it. Without a name it lists the drills. It needs leasehold-dev, takes half a minute to two minutes, and never touches a database of yours: --url and DATABASE_URL are not used. Ends with 1 when the drill did not go as expected.",
  arguments: [{ name: "[name]", about: "which drill" }],
  options: [
    { flags: "--yes", about: "go straight through, without Enter between the steps" },
    { flags: "--hold", about: "keep the incident open, for a terminal of yours, until Enter or Ctrl-C" },
  ],
  examples: [
    "leasehold drill",
    "leasehold drill hot-key",
    "leasehold drill poison-job --hold",
    "leasehold drill crashed-worker --json",
  ],
  ownsSignals: true,
  async run(context, { args: [name], options }) {
    if (name === undefined) return listed();
    const drill = allDrills.find((one) => one.name === name);
    if (drill === undefined)
      throw notFound(`There is no drill ${name}.`, "See what there is: leasehold drill");
    return await runDrill(context, drill, { yes: options.yes === true, hold: options.hold === true });
  },
});

function listed(): View {
  return {
    data: allDrills.map(({ name, summary, expected }) => ({ name, summary, expected })),
    lines: (screen) => [
      ...table(screen, allDrills, [
        { title: "DRILL", value: ({ name }) => name },
        { title: "WHAT HAPPENS", value: ({ summary }) => summary, least: 20 },
      ]),
      "",
      "Run one: leasehold drill crashed-worker",
    ],
  };
}
