import type { Leasehold } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { age, ago } from "../figures.js";
import { wholeNumber } from "../option-values.js";
import { table } from "../table.js";
import { plain, wrap } from "../text-width.js";
import type { Screen } from "../view.js";
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
    const asked = { owner: options.owner, after: options.after };
    const rows = await lh.tenants(withDefined({ ...asked, limit }));
    const owners = rows.length === 0 && asked.owner !== undefined ? await ownersOf(lh) : [];
    return {
      data: rows,
      lines: (screen) => {
        if (rows.length === 0) return noneLines(screen, { ...asked, owners });
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
          ...(rows.length < limit ? [] : [`More: leasehold tenants${ofOwner(asked.owner)} --after ${last}`]),
        ];
      },
    };
  },
});

const ownersShown = 20;

/** Who owns tenants now, among the first page. */
async function ownersOf(lh: Leasehold): Promise<readonly string[]> {
  const rows = await lh.tenants();
  return [...new Set(rows.flatMap(({ owner }) => (owner === null ? [] : [owner])))].sort();
}

interface Asked {
  readonly owner: string | undefined;
  readonly after: string | undefined;
  readonly owners: readonly string[];
}

function noneLines({ width }: Screen, { owner, after, owners }: Asked): readonly string[] {
  if (after !== undefined) return [`There are no tenants after ${plain(after)}.`];
  if (owner === undefined || owners.length === 0)
    return ["No tenants are hot. docs/tenants.md says how to run one thing per tenant."];
  const more = owners.length > ownersShown ? `, and ${owners.length - ownersShown} more` : "";
  const known = owners.slice(0, ownersShown).map(plain).join(", ");
  return wrap(`No tenant runs on ${plain(owner)}. Those that run tenants now: ${known}${more}.`, width);
}

function ofOwner(owner: string | undefined): string {
  return owner === undefined ? "" : ` --owner ${owner}`;
}
