import type { EventMap, Leasehold, QueueOptions } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { exitCodes } from "../exit-codes.js";
import { CliError, usageError } from "../failure.js";
import { span } from "../figures.js";
import { findQueue } from "../find-queue.js";
import { queueArgument } from "../job-options.js";
import { orderOf, shown } from "../queue-lines.js";
import { changeOptions, createOptions, queueOptionsOf, type SettingOptions } from "../queue-options.js";

export const createCommand: CommandSpec = defineCommand<SettingOptions>({
  name: "create",
  summary: "create a queue",
  about:
    "Creates a queue. One that exists with these settings is left as it is; other settings are a conflict (exit 4).",
  arguments: [queueArgument],
  options: createOptions,
  examples: [
    "leasehold queues create inbox --order key",
    "leasehold queues create mail --order none --max-attempts 5 --retention 2d",
  ],
  async run(context, { args: [name = ""], options }) {
    const lh = await context.connect();
    const isOld = (await lh.queues()).some((one) => one.name === name);
    await created(lh, name, { order: "key", ...queueOptionsOf(options) });
    const queue = await findQueue(lh, name);
    return {
      data: { ...queue, created: !isOld },
      lines: () =>
        isOld
          ? [`The queue ${name} exists already, with these settings.`]
          : [
              `Created the queue ${name}, order ${orderOf(queue)}.`,
              `Next: leasehold enqueue ${name} hello '{"name": "world"}'${queue.order === "key" ? " --key customer:1" : ""}`,
            ],
    };
  },
});

export const changeCommand: CommandSpec = defineCommand<SettingOptions>({
  name: "change",
  summary: "change settings of a queue at work",
  about: "Changes what can be changed while a queue is at work. Every process follows at once.",
  arguments: [queueArgument],
  options: changeOptions,
  examples: ["leasehold queues change inbox --max-attempts 8 --retention 14d"],
  async run(context, { args: [name = ""], options }) {
    const change = queueOptionsOf(options);
    if (Object.keys(change).length === 0) {
      const flags = changeOptions.map((option) => option.flags.replace(/ .*/, ""));
      throw usageError("There is nothing to change.", `Give at least one of ${flags.join(", ")}.`);
    }
    const lh = await context.connect();
    await (await lh.queue(name)).change(change);
    return shown(await findQueue(lh, name));
  },
});

/** The library goes on with what is stored where that can be changed; who creates a queue by hand means what was asked for. */
async function created(lh: Leasehold, name: string, options: QueueOptions): Promise<void> {
  const differences: EventMap["queue:differs"]["differences"][number][] = [];
  const stop = lh.on("queue:differs", (event) => {
    if (event.queue === name) differences.push(...event.differences);
  });
  await lh.queue(name, options).finally(stop);
  if (differences.length === 0) return;
  const texts = differences.map(({ option, given, stored }) => {
    const flag = `--${option.replace(/Ms$/, "").replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return `${flag} is ${valueWords(option, stored)}, you asked for ${valueWords(option, given)}`;
  });
  throw new CliError("CLI_QUEUE_DIFFERS", exitCodes.conflict, {
    message: `The queue ${name} exists with other settings: ${texts.join("; ")}.`,
    advice: `Change them: leasehold queues change ${name}; its --help lists the options.`,
  });
}

function valueWords(option: string, value: unknown): string {
  return typeof value === "number" && option.endsWith("Ms") ? span(value) : JSON.stringify(value);
}
