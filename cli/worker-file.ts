import { existsSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers, Leasehold, Logger, WorkerOptions } from "../src/index.js";
import type { Context } from "./command.js";
import { exitCodes } from "./exit-codes.js";
import { CliError, usageError } from "./failure.js";
import { jsonText, plain } from "./text-width.js";
import { withDefined } from "./with-defined.js";

/** What a worker file makes: a worker, or a supervisor of tenants. */
export interface Startable {
  readonly state: string;
  start(): Promise<void>;
  stop(why?: string): Promise<void>;
}

interface WorkerFileOptions {
  readonly concurrency?: number;
  readonly id?: string;
  readonly verbose?: true;
}

/** The file that was meant; a missing one is said before anything is started. */
export function workerPath(file: string): string {
  const path = resolve(file);
  if (existsSync(path)) return path;
  throw new CliError("CLI_NOT_FOUND", exitCodes.notFound, {
    message: `There is no file ${path}.`,
    advice: "Give the path of an ES module; leasehold worker --help says what it exports.",
  });
}

/** Connects, loads the file and makes its workers; none of them is started by this. */
export async function loadWorkers(
  context: Context,
  file: string,
  { concurrency, id, verbose }: WorkerFileOptions,
): Promise<{ readonly lh: Leasehold; readonly workers: readonly Startable[] }> {
  const path = workerPath(file);
  const logger = lineLogger(context, verbose === true);
  const lh = await context.connect(
    withDefined({ url: context.url, workerId: id, logger, connectionsMax: 10 }),
  );
  const module = await imported(path);
  const made =
    typeof module.default === "function"
      ? ((await module.default(lh)) as unknown)
      : fromExports(lh, module, { path, concurrency });
  const workers = (Array.isArray(made) ? made : [made]) as readonly unknown[];
  if (workers.length === 0 || !workers.every(isStartable))
    throw usageError(
      `The default export of ${path} returned no worker.`,
      "Return lh.worker(...), or an array of workers.",
    );
  return { lh, workers };
}

async function imported(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    throw loadError(path, error);
  }
}

function loadError(path: string, cause: unknown): CliError {
  const isUnknownKind =
    cause instanceof Error && "code" in cause && cause.code === "ERR_UNKNOWN_FILE_EXTENSION";
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (isUnknownKind) {
    const advice = `Node ${process.versions.node} does not run ${extname(path)} files: compile it, or use Node 22.18 or later.`;
    return new CliError("CLI_WORKER_FILE", exitCodes.usage, { message: reason, advice, cause });
  }
  // What npm init writes into package.json makes Node take .js files for CommonJS.
  if (cause instanceof SyntaxError && /node:internal\/modules\/cjs\//.test(cause.stack ?? "")) {
    const message = `Node loads the file ${path} as CommonJS, and it is none: ${reason}`;
    const advice = `If it is an ES module, rename it to ${basename(path, extname(path))}.mjs, or set "type": "module" in package.json.`;
    return new CliError("CLI_WORKER_FILE", exitCodes.failed, { message, advice, cause });
  }
  const place = placeOf(cause);
  const message = `The file ${path} can't be loaded: ${reason}${place === "" ? "" : ` (${place})`}`;
  // Node tells the line of a syntax error only where it prints it itself.
  const isSyntax = cause instanceof SyntaxError && place === "";
  const advice = isSyntax ? `See the line: node --check ${path}` : "Correct the file.";
  return new CliError("CLI_WORKER_FILE", exitCodes.failed, { message, advice, cause });
}

/** Where it happened, by the stack, since the message alone does not say; empty when that names only parts of Node. */
function placeOf(cause: unknown): string {
  const stack = cause instanceof Error ? (cause.stack ?? "") : "";
  const head = /^file:.*:\d+$/m.exec(stack)?.[0];
  const frame = /^ +at .*$/m.exec(stack)?.[0].trim() ?? "";
  return head ?? (frame.includes("(node:") ? "" : frame);
}

function fromExports(
  lh: Leasehold,
  { queue, handlers, options }: Readonly<Record<string, unknown>>,
  { path, concurrency }: { readonly path: string; readonly concurrency: number | undefined },
): Startable {
  if (typeof queue !== "string" || typeof handlers !== "object" || handlers === null) {
    throw usageError(
      `${path} exports neither a default function nor queue and handlers.`,
      'Export default (lh) => lh.worker(...), or: export const queue = "inbox"; export const handlers = { ... };',
    );
  }
  const given = { ...withDefined({ concurrency }), ...(options as WorkerOptions | undefined) };
  return lh.worker(queue, handlers as Handlers<Record<string, unknown>>, given);
}

function isStartable(made: unknown): made is Startable {
  if (typeof made !== "object" || made === null) return false;
  return (
    "start" in made && typeof made.start === "function" && "stop" in made && typeof made.stop === "function"
  );
}

/** Lines of a worker that stays: NDJSON on stdout with --json, else text on stderr. */
function lineLogger({ isJson, say, note }: Context, isVerbose: boolean): Logger {
  const line = (level: string) => (fields: object, message: string) => {
    const at = new Date().toISOString();
    const event = "event" in fields ? String(fields.event) : null;
    if (isJson) say(jsonText({ at, level, event, message }));
    else note(`${at.slice(11, 19)} ${level === "info" ? "" : `${level}: `}${plain(message)}`);
  };
  return {
    debug: isVerbose ? line("debug") : () => {},
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
}
