import { type CommandSpec, defineCommand } from "../command.js";
import { age } from "../figures.js";
import { findQueue } from "../find-queue.js";
import { queueArgument } from "../job-options.js";
import { kept, orderOf, shown } from "../queue-lines.js";
import { table } from "../table.js";
import { dropCommand, pauseCommand, resumeCommand } from "./queues-act.js";
import { changeCommand, createCommand } from "./queues-change.js";

const noQueues = "No queues yet. Create one: leasehold queues create inbox --order key";

const listCommand = defineCommand({
  name: "list",
  summary: "all queues with their settings",
  examples: ["leasehold queues", "leasehold queues list --json"],
  isDefault: true,
  isWatchable: true,
  async run(context) {
    const queues = await (await context.connect()).queues();
    return {
      data: queues,
      lines: (screen) => {
        if (queues.length === 0) return [noQueues];
        return table(screen, queues, [
          { title: "QUEUE", value: ({ name }) => name, least: 12 },
          { title: "ORDER", value: orderOf },
          { title: "BUCKETS", value: ({ buckets }) => String(buckets), align: "right" },
          { title: "ATTEMPTS", value: ({ maxAttempts }) => String(maxAttempts), align: "right" },
          { title: "KEEPS", value: ({ retentionMs }) => kept(retentionMs), align: "right" },
          { title: "AGE", value: ({ createdAt }) => age(createdAt, screen.now), align: "right" },
          {
            title: "PAUSED",
            value: ({ pausedAt }) => (pausedAt === null ? "" : age(pausedAt, screen.now)),
            tint: (_, cell) => screen.paint.warn(cell),
            isOptional: true,
          },
        ]);
      },
    };
  },
});

const show = defineCommand({
  name: "show",
  summary: "one queue with all its settings",
  arguments: [queueArgument],
  examples: ["leasehold queues show inbox"],
  async run(context, { args: [name = ""] }) {
    return shown(await findQueue(await context.connect(), name));
  },
});

export const command: CommandSpec = defineCommand({
  name: "queues",
  summary: "list, create, change, pause, resume, drop",
  examples: ["leasehold queues", "leasehold queues create inbox --order key"],
  subcommands: [listCommand, show, createCommand, changeCommand, pauseCommand, resumeCommand, dropCommand],
});
