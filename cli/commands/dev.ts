import { once } from "node:events";
import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { DevWorker } from "../dev-worker.js";
import { exitCodes } from "../exit-codes.js";
import { span } from "../figures.js";
import { stopSignal } from "../stop-signal.js";
import { jsonText } from "../text-width.js";
import type { View } from "../view.js";
import { workerPath } from "../worker-file.js";

type Options = { data?: string; queue?: string };

export const command: CommandSpec = defineCommand<Options>({
  name: "dev",
  summary: "a PostgreSQL of its own, and your worker under watch",
  about:
    "Starts an embedded PostgreSQL (its data stay in .leasehold/postgres), migrates, and runs your worker file under watch: a change drains it and starts it again. --url or DATABASE_URL names a server of yours instead.",
  arguments: [{ name: "[file]", about: "your worker, as for leasehold worker" }],
  options: [
    { flags: "--data <folder>", about: "where the data of the server stay (.leasehold/postgres)" },
    { flags: "--queue <name>", about: "create this queue too, if it does not exist" },
  ],
  examples: ["leasehold dev", "leasehold dev worker.mjs --queue inbox"],
  ownsSignals: true,
  streams: true,
  async run(context, { args: [file], options }) {
    const path = file === undefined ? null : workerPath(file);
    return await develop(context, path, options);
  },
});

async function develop(context: Context, path: string | null, { data, queue }: Options): Promise<View> {
  const startedAt = performance.now();
  const stop = once(stopSignal(), "abort");
  const server = await openServer(context, data ?? ".leasehold/postgres");
  try {
    await prepare(server.url, context.schema, queue);
    for (const line of greeting(context, { ...server, path, queue, tookMs: performance.now() - startedAt }))
      context.say(line);
    const schema = context.schema === undefined ? {} : { LEASEHOLD_SCHEMA: context.schema };
    const worker =
      path === null
        ? null
        : new DevWorker(path, { ...context.environment, DATABASE_URL: server.url, ...schema });
    await Promise.race([stop, worker?.ended ?? stop]);
    await worker?.drain();
  } finally {
    await server.stop();
  }
  return {
    data: { url: server.isOwn ? server.url : null, stopped: true },
    lines: () => ["Stopped."],
    exitCode: exitCodes.ok,
  };
}

interface DevServer {
  readonly url: string;
  /** Started here. The URL of another server may have a password of the user in it, so it is not printed. */
  readonly isOwn: boolean;
  readonly words: string;
  stop(): Promise<void>;
}

async function openServer(context: Context, dataDirectory: string): Promise<DevServer> {
  if (context.url !== undefined)
    return {
      url: context.url,
      isOwn: false,
      words: "the server of --url or DATABASE_URL",
      stop: () => Promise.resolve(),
    };
  context.note("Starting an embedded PostgreSQL; the first time takes some seconds.");
  const { startPostgres } = await import("../../src/embedded.js");
  const server = await startPostgres({ dataDirectory });
  return {
    url: server.url,
    isOwn: true,
    words: `PostgreSQL ${server.version}, data in ${dataDirectory}`,
    stop: () => server.stop(),
  };
}

async function prepare(url: string, schema: string | undefined, queue: string | undefined): Promise<void> {
  const { connect } = await import("../../src/index.js");
  const lh = await connect({ url, schema, logger: false });
  try {
    await lh.migrate();
    if (queue === undefined) return;
    const { UnknownQueueError } = await import("../../src/index.js");
    await lh.queue(queue).catch((error: unknown) => {
      if (!(error instanceof UnknownQueueError)) throw error;
      return lh.queue(queue, { order: "key" });
    });
  } finally {
    await lh.close();
  }
}

interface Ready {
  readonly url: string;
  readonly isOwn: boolean;
  readonly words: string;
  readonly path: string | null;
  readonly queue: string | undefined;
  readonly tookMs: number;
}

/** `npx`, because a new user has the program in node_modules only. */
function greeting(
  { isJson }: Context,
  { url, isOwn, words, path, queue = "inbox", tookMs }: Ready,
): readonly string[] {
  if (isJson) return [jsonText({ url: isOwn ? url : null, worker: path, readyMs: Math.round(tookMs) })];
  const next =
    path === null
      ? [
          "No worker file was given, so nothing works on jobs. Write worker.mjs:",
          "",
          `  export const queue = "inbox";`,
          `  export const handlers = { hello: (job) => console.log(job.payload) };`,
          "",
          "and run: npx leasehold dev worker.mjs --queue inbox",
        ]
      : [`Your worker: ${path}. A change drains it and starts it again.`];
  return [
    `Ready after ${span(tookMs)}: ${words}`,
    "",
    ...(isOwn ? [`  export DATABASE_URL=${url}`, ""] : []),
    ...next,
    ...(path === null
      ? []
      : [`In another terminal: npx leasehold enqueue ${queue} hello '{"name": "world"}'`]),
    "Ctrl-C stops everything; the data stay.",
    "",
  ];
}
