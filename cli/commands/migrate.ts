import { type CommandSpec, defineCommand } from "../command.js";
import { counted } from "../figures.js";
import { table } from "../table.js";

export const command: CommandSpec = defineCommand<{ plan?: true }>({
  name: "migrate",
  summary: "create the schema or bring it up to date",
  about:
    "Creates the schema, or brings it and every queue in it up to date. Safe to run any number of times, by many at once.",
  options: [{ flags: "--plan", about: "show what would run, and run nothing" }],
  examples: ["leasehold migrate --plan", "leasehold migrate --url postgres://localhost/shop"],
  async run(context, { options }) {
    const lh = await context.connect();
    const plan = await lh.plan();
    if (options.plan === true) {
      return {
        data: { schema: lh.schema, pending: plan },
        lines: (screen) => {
          if (plan.length === 0) return [`The schema ${lh.schema} is up to date.`];
          const rows = table(screen, plan, [
            { title: "FILE", value: ({ file }) => file },
            { title: "CONCERNS", value: ({ queue }) => (queue === null ? "schema" : `queue ${queue}`) },
            { title: "NOTE", value: ({ isRepeated }) => (isRepeated ? "changed" : ""), isOptional: true },
          ]);
          return [...rows, "", `${counted(plan.length, "migration")} would run in the schema ${lh.schema}.`];
        },
      };
    }
    const report = context.progress("migrations");
    let done = 0;
    lh.on("migration:applied", () => report(++done));
    const applied = await lh.migrate();
    return {
      data: { schema: lh.schema, applied },
      lines: () => {
        if (applied === 0) return [`The schema ${lh.schema} is up to date.`];
        return [
          `The schema ${lh.schema} is up to date: ${counted(applied, "migration")} ran.`,
          ...(plan.some(({ queue }) => queue !== null)
            ? []
            : ["Next: leasehold queues create inbox --order key"]),
        ];
      },
    };
  },
});
