import { type CommandSpec, defineCommand } from "../command.js";
import { age, ago } from "../figures.js";
import { wholeNumber } from "../option-values.js";
import { table } from "../table.js";
import { withDefined } from "../with-defined.js";

export const command: CommandSpec = defineCommand<{ owner?: string; limit?: number; after?: string }>({
  name: "tenants",
  summary: "which worker runs which tenant",
  options: [
    { flags: "--owner <worker>", about: "only those of this worker" },
    { flags: "--limit <rows>", about: "how many at most (100)", parse: wholeNumber },
    { flags: "--after <tenant>", about: "the last tenant of the page before" },
  ],
  examples: ["leasehold tenants", "leasehold tenants --owner web-1:4711 --json"],
  isWatchable: true,
  async run(context, { options }) {
    const limit = options.limit ?? 100;
    const lh = await context.connect();
    const rows = await lh.tenants(withDefined({ owner: options.owner, after: options.after, limit }));
    return {
      data: rows,
      lines: (screen) => {
        if (rows.length === 0)
          return ["No tenants are hot. docs/tenants.md says how to run one thing per tenant."];
        const { tenant: last } = rows.at(-1) ?? { tenant: "" };
        return [
          ...table(screen, rows, [
            { title: "TENANT", value: ({ tenant }) => tenant, least: 12 },
            {
              title: "SUPERVISOR",
              value: ({ supervisor }) => (supervisor === "tenants" ? "" : supervisor),
              isOptional: true,
            },
            {
              title: "STATE",
              value: ({ state }) => state,
              tint: ({ state }, cell) =>
                state === "running" ? screen.paint.good(cell) : screen.paint.warn(cell),
            },
            { title: "OWNER", value: ({ owner }) => owner ?? "-", least: 12 },
            { title: "FOR", value: ({ since }) => age(since, screen.now), align: "right" },
            { title: "TOKEN", value: ({ fenceToken }) => fenceToken, align: "right" },
            { title: "LEASE ENDS", value: ({ expiresAt }) => ago(expiresAt, screen.now), align: "right" },
          ]),
          ...(rows.length < limit ? [] : [`More: leasehold tenants --after ${last}`]),
        ];
      },
    };
  },
});
