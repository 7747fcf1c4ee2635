import { once } from "node:events";
import { type CommandSpec, type Context, defineCommand } from "../command.js";
import { DevWorker } from "../dev-worker.js";
import { exitCodes } from "../exit-codes.js";
import { notFound } from "../failure.js";
import { span } from "../figures.js";
import { stopSignal } from "../stop-signal.js";
import { jsonText } from "../text-width.js";
import type { View } from "../view.js";
import { workerPath } from "../worker-file.js";

const defaultFolder = ".leasehold/postgres";
const aliveMs = 3_600_000;

type Options = { data?: string; queue?: string; printUrl?: true };

export const command: CommandSpec = defineCommand<Options>({
  name: "dev",
  summary: "a PostgreSQL of its own, and your worker under watch",
  about:
    "Starts an embedded PostgreSQL (its data stay in .leasehold/postgres), migrates, and runs your worker file under watch: a change drains it and starts it again. The server stays until Ctrl-C, also when the worker ends or crashes. A second leasehold dev in the same folder uses the server of the first. --url or DATABASE_URL names a server of yours instead.",
  arguments: [{ name: "[file]", about: "your worker, as for leasehold worker" }],
  options: [
    { flags: "--data <folder>", about: "where the data of the server stay (.leasehold/postgres)" },
    { flags: "--queue <name>", about: "create this queue too, if it does not exist" },
    { flags: "--print-url", about: "print the address of the server that runs here already, and end" },
  ],
  examples: [
    "leasehold dev",
    "leasehold dev worker.mjs --queue inbox",
    "export DATABASE_URL=$(npx leasehold dev --print-url)",
  ],
  ownsSignals: true,
  streams: true,
  async run(context, { args: [file], options }) {
    if (options.printUrl === true) return await runningServer(options.data ?? defaultFolder);
    const path = file === undefined ? null : workerPath(file);
    return await develop(context, path, options);
  },
});

/** For another terminal: the port is another one after each start. */
async function runningServer(folder: string): Promise<View> {
  const { findPostgres } = await import("../../src/embedded.js");
  const server = await findPostgres(folder);
  if (server === undefined)
    throw notFound(`No server runs on ${folder}.`, "Start one in another terminal: npx leasehold dev");
  return { data: { url: server.url }, lines: () => [server.url] };
}

async function develop(context: Context, path: string | null, { data, queue }: Options): Promise<View> {
  const startedAt = performance.now();
  const stop = once(stopSignal(), "abort");
  const server = await openServer(context, data ?? defaultFolder);
  try {
    await prepare(server.url, context.schema, queue);
    for (const line of greeting(context, { ...server, path, queue, tookMs: performance.now() - startedAt }))
      context.say(line);
    const schema = context.schema === undefined ? {} : { LEASEHOLD_SCHEMA: context.schema };
    const worker =
      path === null
        ? null
        : new DevWorker(path, { ...context.environment, DATABASE_URL: server.url, ...schema });
    await stopped(context, stop, worker);
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

/** Waits for Ctrl-C. The end of the worker's watcher is told and changes nothing. */
async function stopped({ note }: Context, stop: Promise<unknown>, worker: DevWorker | null): Promise<void> {
  // Without a worker nothing else keeps the process alive, neither the server nor a listener for signals.
  const alive = setInterval(() => {}, aliveMs);
  const watcherEnded = worker?.ended.then(() => "watcher ended") ?? stop;
  if ((await Promise.race([stop, watcherEnded])) === "watcher ended")
    note(
      "The worker is no longer watched; the database goes on. Stop with Ctrl-C and start again to watch it.",
    );
  await stop;
  clearInterval(alive);
}

interface DevServer {
  readonly url: string;
  /** An embedded one. The URL of another server may have a password of the user in it, so it is not printed. */
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
  const { findPostgres, startPostgres } = await import("../../src/embedded.js");
  const isJoined = (await findPostgres(dataDirectory)) !== undefined;
  if (!isJoined) context.note("Starting an embedded PostgreSQL; the first time takes some seconds.");
  const server = await startPostgres({ dataDirectory });
  const whose = isJoined ? "; another leasehold dev has started it, and it stops with that one" : "";
  return {
    url: server.url,
    isOwn: true,
    words: `PostgreSQL ${server.version}, data in ${dataDirectory}${whose}`,
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
    isOwn ? "Ctrl-C stops what was started here; the data stay." : "Ctrl-C stops the worker.",
    "",
  ];
}
