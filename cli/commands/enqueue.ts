import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { usageError } from "../failure.js";
import { durationMs, json, jsonObject, point, wholeNumber } from "../option-values.js";
import { stored, textOf } from "../utf8.js";
import { withDefined } from "../with-defined.js";

type Options = {
  file?: string;
  key?: string;
  idempotencyKey?: string;
  delay?: number;
  at?: Date;
  priority?: number;
  maxAttempts?: number;
  headers?: Readonly<Record<string, unknown>>;
};

export const command: CommandSpec = defineCommand<Options>({
  name: "enqueue",
  summary: "add a job",
  about:
    "Adds a job to a queue. The payload is JSON: as an argument, from a file, or from stdin with -. Without one it is {}.",
  arguments: [
    { name: "<queue>", about: "name of the queue" },
    { name: "<kind>", about: "which handler runs it" },
    { name: "[payload]", about: "JSON, or - for stdin" },
  ],
  options: [
    { flags: "--file <path>", about: "read the payload from a file" },
    {
      flags: "--key <key>",
      about: "partition key: jobs of one key run in order",
      parse: (text) => stored("The key", text),
    },
    {
      flags: "--idempotency-key <key>",
      about: "a second job with this key is not created",
      parse: (text) => stored("The key", text),
    },
    { flags: "--delay <time>", about: "due after so long: 30s, 10m, 2h", parse: durationMs },
    { flags: "--at <time>", about: "due at this time: 2026-01-31T09:30:00Z", parse: point },
    { flags: "--priority <number>", about: 'lower runs earlier; only with order "none"', parse: wholeNumber },
    {
      flags: "--max-attempts <number>",
      about: "how many attempts may end with an error",
      parse: wholeNumber,
    },
    {
      flags: "--headers <json>",
      about: "headers, a JSON object",
      parse: (text) => jsonObject(stored("The JSON", text)),
    },
  ],
  examples: [
    `leasehold enqueue inbox receipt.send '{"order": 9182}' --key order:9182`,
    "leasehold enqueue inbox report.make --file report.json --delay 10m",
    "jq -c .order event.json | leasehold enqueue inbox receipt.send -",
  ],
  async run(context, { args: [name = "", kind = "", argument], options }) {
    stored("The kind", kind);
    const payload = await payloadOf(context, argument, options.file);
    const lh = await context.connect();
    const queue = await lh.queue(name);
    const given = withDefined({
      partitionKey: options.key,
      idempotencyKey: options.idempotencyKey,
      delayMs: options.delay,
      availableAt: options.at,
      priority: options.priority,
      maxAttempts: options.maxAttempts,
      headers: options.headers,
    });
    const { id, duplicate } = await queue.enqueue(kind, payload, given);
    return {
      data: { queue: name, kind, id, duplicate },
      lines: () =>
        duplicate
          ? [`${id} has this idempotency key already; nothing was added.`]
          : [id, `Follow it: leasehold jobs why ${name} ${id}`],
    };
  },
});

async function payloadOf(
  context: Context,
  argument: string | undefined,
  file: string | undefined,
): Promise<unknown> {
  if (argument !== undefined && file !== undefined)
    throw usageError("There are two payloads: an argument and --file.", "Give one of them.");
  if (file !== undefined) return json(await textOf(file));
  if (argument === undefined) return {};
  return json(argument === "-" ? await context.readStdin() : stored("The payload", argument));
}
