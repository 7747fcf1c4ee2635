import { type CommandSpec, defineCommand } from "../command.js";
import { pairs } from "../table.js";

const rights = [
  ["producer", "enqueue"],
  ["worker", "claim, settle, renew, and what a producer may"],
  ["viewer", "read"],
  ["operator", "redrive, discard, pause, and what a viewer may"],
] as const;

export const command: CommandSpec = defineCommand({
  name: "grant",
  summary: "create the roles with least privileges",
  about:
    "Creates the roles <schema>_producer, _worker, _viewer and _operator if they do not exist, and gives them their rights. Run it again after new queues or migrations.",
  examples: ["leasehold grant", "leasehold grant --schema billing"],
  async run(context) {
    const lh = await context.connect();
    await lh.grant();
    const roles = rights.map(([name, may]) => ({ role: `${lh.schema}_${name}`, may }));
    return {
      data: { schema: lh.schema, roles: roles.map(({ role }) => role) },
      lines: (screen) => [
        "The roles have their rights:",
        ...pairs(
          screen,
          roles.map(({ role, may }) => [`  ${role}`, may]),
        ),
        "",
        `Let an application in with: grant ${lh.schema}_worker to shop;`,
      ],
    };
  },
});
