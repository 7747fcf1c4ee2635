import { CommanderError } from "commander";
import { commands } from "./commands.js";
import { type OpenContext, openContext } from "./context.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";
import { failureOf, usageError } from "./failure.js";
import { hasNoSubcommand, misused } from "./misused.js";
import { paint } from "./paint.js";
import { type Parsed, program } from "./program.js";
import { replicaNote } from "./replica-note.js";
import type { Surroundings } from "./surroundings.js";
import { jsonText, plain, printable } from "./text-width.js";
import { failureFor, printFailure, type Telling } from "./told-failure.js";
import type { Screen, View } from "./view.js";

const watchSeconds = 2;

/** Parses, runs, prints; resolves with the exit code. */
export async function run(argv: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { stderr, environment } = surroundings;
  let parsed: Parsed | null = null;
  try {
    parsed = await parse(argv, surroundings);
    return parsed === null ? exitCodes.ok : await execute(parsed, surroundings);
  } catch (error) {
    // The words of the command line may be all there is: what could not be parsed has no options.
    return printFailure(await failureFor(error, parsed, surroundings), surroundings, {
      isJson: argv.includes("--json"),
      hasColour: stderr.isTTY === true && !isPlain(environment, argv.includes("--no-color")),
    });
  }
}

/** Null when the parser has printed help or the version. */
async function parse(argv: readonly string[], surroundings: Surroundings): Promise<Parsed | null> {
  const { stdout, version } = surroundings;
  let parsed: Parsed | null = null;
  const parts = { commands, version, width: widthOfScreen(surroundings), write: stdout.write };
  const root = program(parts, (understood) => {
    parsed = understood;
  });
  try {
    if (argv.length === 0) root.help();
    // `help queues` is `queues --help`: the parser's own help command would not load the file.
    const words = argv[0] === "help" ? await helpOf(argv.slice(1)) : argv;
    await root.parseAsync([...withKnownName(words)], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw misused(error, argv, root);
  }
  return parsed;
}

/** `queues show --help` for `help queues show`; a subcommand that there is not is refused. */
async function helpOf([name, sub, ...more]: readonly string[]): Promise<readonly string[]> {
  const words = [name, sub, ...more, "--help"].filter((word) => word !== undefined);
  const entry = commands.find((one) => one.name === name);
  if (entry === undefined || sub === undefined || sub.startsWith("-")) return words;
  const { subcommands = [] } = (await entry.load()).command;
  const known = subcommands.map((one) => one.name);
  if (known.length === 0 || known.includes(sub)) return words;
  const { message, advice } = hasNoSubcommand([entry.name], known, sub);
  throw usageError(message, `${advice} More: leasehold ${entry.name} --help`);
}

/** With --help the parser has help for names that there are not; without it, it refuses them. */
function withKnownName(words: readonly string[]): readonly string[] {
  const [name = ""] = words;
  const asksHelp = words.includes("--help") || words.includes("-h");
  const isKnown = name.startsWith("-") || commands.some((one) => one.name === name);
  return asksHelp && !isKnown ? [name] : words;
}

async function execute(parsed: Parsed, surroundings: Surroundings): Promise<ExitCode> {
  const { spec, options } = parsed;
  if (spec.ownsSignals === true) surroundings.outliveOutput?.();
  const { stdin } = surroundings;
  // A question names workers and queues as they were given.
  const asking = { ...stdin, ask: (question: string) => stdin.ask(plain(question)) };
  const context = openContext({ ...surroundings, stdin: asking }, parsed, {
    commands,
    run,
    screen: () => screenOf(surroundings, parsed),
  });
  const work =
    options.watch === undefined ? once(parsed, context, surroundings) : watch(parsed, context, surroundings);
  if (spec.ownsSignals === true) {
    surroundings.onExit?.(() => endedEarly(parsed, context, surroundings));
    return await work.finally(() => context.close());
  }
  let stopListening = (): void => {};
  const interrupted = new Promise<ExitCode>((resolve, reject) => {
    stopListening = surroundings.onInterrupt(() => {
      const cut = context.cutShort();
      if (cut === null) resolve(exitCodes.interrupted);
      else reject(cut);
    });
  });
  try {
    const ended = work.finally(() => context.close());
    return await Promise.race([ended, interrupted]);
  } finally {
    stopListening();
  }
}

async function once(parsed: Parsed, context: OpenContext, surroundings: Surroundings): Promise<ExitCode> {
  const view = await viewOf(parsed, context);
  await noteReplica(parsed, context);
  context.takeEnding();
  return printView(view, parsed, context, surroundings);
}

function printView(view: View, parsed: Parsed, context: OpenContext, surroundings: Surroundings): ExitCode {
  context.clearProgress();
  const { stdout, onData } = surroundings;
  onData?.(view.data);
  const indent = parsed.spec.streams === true ? 0 : 2;
  if (context.isJson) stdout.write(`${jsonText(view.data, indent)}\n`);
  else for (const line of linesOf(view, screenOf(surroundings, parsed))) stdout.write(`${line}\n`);
  return view.exitCode ?? exitCodes.ok;
}

/** The library has ended the process; nothing can be waited for any more. */
function endedEarly(parsed: Parsed, context: OpenContext, surroundings: Surroundings): ExitCode {
  const ending = context.takeEnding();
  if (ending === null) return exitCodes.ok;
  try {
    return printView(ending(), parsed, context, surroundings);
  } catch (error) {
    return printFailure(
      failureOf(error, () => null),
      surroundings,
      telling(parsed, surroundings),
    );
  }
}

/** Runs it again and again until it is interrupted; with --json each look is one line. Once it has shown something, it goes on through an outage of the database. */
async function watch(parsed: Parsed, context: OpenContext, surroundings: Surroundings): Promise<ExitCode> {
  const { watch: given } = parsed.options;
  const everyMs = 1_000 * (typeof given === "number" ? given : watchSeconds);
  let [isFirst, isAway] = [true, false];
  for (;;) {
    try {
      const view = await viewOf(parsed, context);
      if (isFirst) await noteReplica(parsed, context);
      if (isAway && !context.isJson) context.note("The database answers again.");
      [isFirst, isAway] = [false, false];
      showLook(view, everyMs, { parsed, surroundings });
    } catch (error) {
      const failure = isFirst ? null : await failureFor(error, parsed, surroundings);
      if (failure?.exitCode !== exitCodes.unreachable) throw error;
      if (!isAway) {
        printFailure(failure, surroundings, telling(parsed, surroundings));
        if (!context.isJson) context.note(`Trying again every ${everyMs / 1_000} s.`);
      }
      isAway = true;
    }
    await surroundings.sleep(everyMs);
  }
}

interface Shown {
  readonly parsed: Parsed;
  readonly surroundings: Surroundings;
}

function showLook(view: View, everyMs: number, { parsed, surroundings }: Shown): void {
  const { stdout } = surroundings;
  const screen = screenOf(surroundings, parsed);
  if (parsed.options.json === true) {
    stdout.write(`${jsonText(view.data)}\n`);
    return;
  }
  const title = `${screen.now.toISOString().slice(0, 19).replace("T", " ")} UTC, every ${everyMs / 1_000} s`;
  const head = stdout.isTTY === true ? "\u001b[H\u001b[2J" : "";
  stdout.write(`${head}${screen.paint.faint(title)}\n${linesOf(view, screen).join("\n")}\n`);
}

/** Data of jobs and workers can be in any line, and may not reach the terminal as it is. */
function linesOf(view: View, screen: Screen): readonly string[] {
  return view.lines(screen).map((line) => printable(line, screen.paint.hasColour));
}

async function viewOf({ spec, args, options }: Parsed, context: OpenContext): Promise<View> {
  if (spec.run === undefined) throw usageError(`leasehold ${spec.name} needs a subcommand.`);
  return await spec.run(context, { args, options: { ...options } });
}

async function noteReplica({ spec }: Parsed, context: OpenContext): Promise<void> {
  if (spec.asksReplica !== true) return;
  const line = await replicaNote(await context.connect());
  if (line !== null) context.note(line);
}

function screenOf(surroundings: Surroundings, { options }: Parsed): Screen {
  const { environment, stdout, now } = surroundings;
  return {
    width: widthOfScreen(surroundings),
    paint: paint(stdout.isTTY === true && !isPlain(environment, options.color === false)),
    now: now(),
  };
}

/** How errors are printed while a command runs. */
function telling({ options }: Parsed, { stderr, environment }: Surroundings): Telling {
  const hasColour = stderr.isTTY === true && !isPlain(environment, options.color === false);
  return { isJson: options.json === true, hasColour };
}

function isPlain({ NO_COLOR, TERM }: NodeJS.ProcessEnv, isAsked: boolean): boolean {
  return isAsked || Boolean(NO_COLOR) || TERM === "dumb";
}

/** Piped output has no width, unless COLUMNS gives one. */
function widthOfScreen({ environment, stdout }: Surroundings): number {
  if (stdout.isTTY === true && stdout.columns) return stdout.columns;
  const given = Number(environment.COLUMNS);
  return given > 0 ? given : Number.POSITIVE_INFINITY;
}
