import type { ConnectOptions, Leasehold } from "../src/index.js";
import type { Context } from "./command.js";
import type { Entry } from "./commands.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";
import { CliError } from "./failure.js";
import type { Parsed } from "./program.js";
import { ProgressLine } from "./progress-line.js";
import type { Surroundings } from "./surroundings.js";
import { printable } from "./text-width.js";
import type { RanLine, Screen, View } from "./view.js";

/** A server that does not answer is a finding, and a person waits for it. */
const connectLimitMs = 5_000;

/** A context, and what ends it. */
export interface OpenContext extends Context {
  /** Takes a line of progress away, before something else is printed. */
  clearProgress(): void;
  /** What an interruption leaves half done; null when nothing is under way that counts. */
  cutShort(): CliError | null;
  /** What atExit() was given; null the second time. */
  takeEnding(): (() => View) | null;
  close(): Promise<void>;
}

/** What a context needs of the command line around it. */
export interface AroundContext {
  readonly commands: readonly Entry[];
  run(argv: readonly string[], surroundings: Surroundings): Promise<ExitCode>;
  screen(): Screen;
}

export function openContext(
  surroundings: Surroundings,
  { spec, options }: Pick<Parsed, "spec" | "options">,
  around: AroundContext,
): OpenContext {
  const { environment, version, stdin, stdout, stderr, now, connectOptions } = surroundings;
  const url = given(options.url) ?? given(environment.DATABASE_URL);
  const schema = given(options.schema) ?? given(environment.LEASEHOLD_SCHEMA);
  const replica = given(options.replicaUrl) ?? given(environment.LEASEHOLD_REPLICA_URL);
  const replicaUrl = spec.asksReplica === true ? named(replica, environment) : undefined;
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  let ending: (() => View) | null = null;
  let connection: Promise<Leasehold> | null = null;
  const progress = new ProgressLine(stderr);
  const clearProgress = (): void => progress.clear();
  return {
    url,
    schema,
    isJson: options.json === true,
    isInteractive,
    environment,
    version,
    now,
    connect: (more = {}) => {
      connection ??= openConnection({
        ...{ url: named(url, environment), replicaUrl, schema },
        ...more,
        ...connectOptions,
      });
      return connection;
    },
    confirm: (what, isConfirmed) => confirmed(what, isConfirmed, isInteractive ? stdin : null),
    progress: (what) => progress.begin(what),
    note: (line) => {
      clearProgress();
      stderr.write(`${line}\n`);
    },
    say: (line) => stdout.write(`${line}\n`),
    show: (lines) => {
      if (options.json === true) return;
      clearProgress();
      const screen = around.screen();
      for (const line of lines(screen)) stdout.write(`${printable(line, screen.paint.hasColour)}\n`);
    },
    waitForEnter: async (words) => {
      clearProgress();
      await stdin.ask(words);
    },
    onInterrupt: (listener) => surroundings.onInterrupt(listener),
    runLine: (argv, lineUrl) => runLine(argv, insideOf(surroundings, lineUrl), around),
    readStdin: () => stdin.read(),
    allCommands: async () =>
      (await Promise.all(around.commands.map((entry) => entry.load()))).map(({ command }) => command),
    clearProgress,
    atExit: (view) => {
      ending = view;
    },
    takeEnding: () => {
      const taken = ending;
      ending = null;
      return taken;
    },
    cutShort: () => progress.cutShort(),
    close: async () => {
      clearProgress();
      await connection?.then((lh) => lh.close()).catch(() => {}); // A connection that failed has been reported.
    },
  };
}

/** Resolves when it may go on. Nobody can be asked where `stdin` is null. */
async function confirmed(
  what: string,
  isConfirmed: boolean | undefined,
  stdin: Surroundings["stdin"] | null,
): Promise<void> {
  if (isConfirmed === true) return;
  if (stdin === null) {
    const words = { message: `${what} Nothing was done: nobody can be asked here.`, advice: "Add --yes." };
    throw new CliError("CLI_NOT_CONFIRMED", exitCodes.usage, words);
  }
  const answer = await stdin.ask(`${what} Go on? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliError("CLI_DECLINED", exitCodes.failed, { message: "Nothing was done." });
}

/** The same terminal, another server. Nobody is asked anything, and Ctrl-C belongs to the command outside. */
function insideOf(surroundings: Surroundings, url: string): Surroundings {
  const { connectOptions, ...rest } = surroundings;
  const own = { DATABASE_URL: url, LEASEHOLD_SCHEMA: "leasehold", LEASEHOLD_REPLICA_URL: "" };
  const environment = { ...surroundings.environment, ...own };
  const stdin = { read: () => Promise.resolve(""), ask: () => Promise.resolve("") };
  return { ...rest, environment, stdin, onInterrupt: () => () => {} };
}

async function runLine(
  argv: readonly string[],
  surroundings: Surroundings,
  { run }: AroundContext,
): Promise<RanLine> {
  let output = "";
  let data: unknown = null;
  const write = (text: string): void => {
    output += text;
  };
  const { isTTY, columns } = surroundings.stdout;
  const printed = { isTTY, columns, write };
  const onData = (value: unknown): void => {
    data = value;
  };
  const exitCode = await run(argv, { ...surroundings, stdout: printed, stderr: { write }, onData });
  return { output, data, exitCode };
}

async function openConnection(options: ConnectOptions): Promise<Leasehold> {
  if (options.url === undefined) {
    throw new CliError("CLI_USAGE", exitCodes.usage, {
      message: "It is not known where the database is.",
      advice: "Set DATABASE_URL or give --url; leasehold dev starts a server of its own.",
    });
  }
  const { connect } = await import("../src/index.js");
  return await connect({ logger: false, connectionsMax: 4, connectLimitMs, ...options });
}

function given(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The history of queues tells who acted; several people may share a role, so the connection carries the name of the user too. The path of a socket takes no parameters, and what is no URL is refused as it was given. */
function named(url: string | undefined, { USER }: NodeJS.ProcessEnv): string | undefined {
  if (url === undefined || !/^postgres(ql)?:\/\//i.test(url) || /[?&]application_name=/.test(url)) return url;
  const name =
    USER === undefined || USER === ""
      ? "leasehold cli"
      : `leasehold cli (${[...USER].slice(0, 40).join("")})`;
  return `${url}${url.includes("?") ? "&" : "?"}application_name=${encodeURIComponent(name)}`;
}
