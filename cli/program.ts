import { Argument, Command, Option } from "commander";
import type { CommandSpec, OptionSpec } from "./command.js";
import type { Entry } from "./commands.js";
import { CliError, usageError } from "./failure.js";

/** A command line that was understood: which command, and what it was given. */
export interface Parsed {
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

export interface ProgramParts {
  readonly commands: readonly Entry[];
  readonly version: string;
  readonly width: number;
  write(text: string): void;
}

const watchOption: OptionSpec = {
  flags: "--watch [seconds]",
  about: "show it again every so many seconds (2)",
  parse: seconds,
};
const replicaOption: OptionSpec = {
  flags: "--replica-url <url>",
  about: "a standby that answers (or LEASEHOLD_REPLICA_URL)",
};
const yesOption: OptionSpec = { flags: "--yes", about: "do it without asking" };

const globalOptions: readonly OptionSpec[] = [
  { flags: "--url <url>", about: "PostgreSQL URL (or DATABASE_URL)" },
  { flags: "--schema <name>", about: "schema of Leasehold (or LEASEHOLD_SCHEMA; leasehold)" },
  { flags: "--json", about: "data with stable keys instead of text" },
  { flags: "--no-color", about: "no colours (or NO_COLOR)" },
];

const footer = `
Examples:
  leasehold dev worker.mjs
  leasehold status --watch
  leasehold jobs why inbox 01890a5d-ac96-774b-bcce-b302099a8057

Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict,
5 database unreachable, 130 interrupted. More: docs/cli.md`;

/** The parser. A command's file is loaded when the command line names it; `onParsed` gets what was understood. */
export function program(parts: ProgramParts, onParsed: (parsed: Parsed) => void): Command {
  const root = new Command("leasehold")
    .description("Durable, ordered work in PostgreSQL.")
    .version(parts.version, "-V, --version", "print the version")
    .helpCommand(false)
    .usage("<command> [options]");
  prepare(root, parts);
  for (const option of globalOptions) root.addOption(optionOf(option));
  root.addHelpText("after", footer);
  for (const { name, summary, group } of parts.commands) {
    const stub = new Command(name).description(summary).helpGroup(group);
    prepare(stub, parts);
    root.addCommand(stub);
  }
  // Commander waits for this before it looks at the words of the subcommand.
  root.hook("preSubcommand", async (_, sub) => {
    const entry = parts.commands.find(({ name }) => name === sub.name());
    if (entry !== undefined) await fillOnce(sub, entry, { parts, onParsed });
  });
  return root;
}

interface Filling {
  readonly parts: ProgramParts;
  onParsed(parsed: Parsed): void;
}

const filled = new WeakSet<Command>();

/** Gives a stub its arguments, options and subcommands. */
export async function fillOnce(command: Command, entry: Entry, filling: Filling): Promise<void> {
  if (filled.has(command)) return;
  filled.add(command);
  const { command: spec } = await entry.load();
  fill(command, spec, { path: `leasehold ${spec.name}`, filling });
}

function fill(
  command: Command,
  spec: CommandSpec,
  { path, filling }: { readonly path: string; readonly filling: Filling },
): void {
  const sentence = `${spec.summary.charAt(0).toUpperCase()}${spec.summary.slice(1)}.`;
  command.description(spec.about ?? sentence).summary(spec.summary);
  for (const { name, about, choices } of spec.arguments ?? []) {
    const argument = new Argument(name, about);
    command.addArgument(choices === undefined ? argument : argument.choices([...choices]));
  }
  for (const option of optionsOf(spec)) command.addOption(optionOf(option));
  command.addHelpText("after", `\nExamples:\n${spec.examples.map((line) => `  ${line}`).join("\n")}`);
  for (const sub of spec.subcommands ?? []) {
    const child = new Command(sub.name);
    prepare(child, filling.parts);
    fill(child, sub, { path: `${path} ${sub.name}`, filling });
    command.addCommand(child, { isDefault: sub.isDefault === true });
  }
  if (spec.run === undefined) return;
  command.action(() => {
    filling.onParsed({ spec, args: command.args, options: command.optsWithGlobals() });
  });
}

/** Those of the spec, and those that many commands share. */
export function optionsOf(spec: CommandSpec): readonly OptionSpec[] {
  return [
    ...(spec.options ?? []),
    ...(spec.isWatchable === true ? [watchOption] : []),
    ...(spec.asksReplica === true ? [replicaOption] : []),
    ...(spec.asks === true ? [yesOption] : []),
  ];
}

export function globalOptionsOf(): readonly OptionSpec[] {
  return globalOptions;
}

function prepare(command: Command, { width, write }: ProgramParts): void {
  command
    .exitOverride()
    .helpOption("-h, --help", "print help")
    .allowExcessArguments(false)
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: Number.isFinite(width) ? width : 80,
      subcommandTerm: (sub) => sub.name(),
    })
    .configureOutput({ writeOut: write, writeErr: () => {}, outputError: () => {} });
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.about);
  if (spec.choices !== undefined) option.choices([...spec.choices]);
  if (spec.isRequired === true) option.makeOptionMandatory();
  const parse = spec.parse === undefined ? undefined : named(spec.flags, spec.parse);
  if (spec.isRepeatable === true) {
    option.argParser((text: string, before: readonly unknown[] = []) => [...before, parse?.(text) ?? text]);
  } else if (parse !== undefined) option.argParser((text: string) => parse(text));
  return option;
}

/** A value that is refused says of which flag it is. */
function named(flags: string, parse: (text: string) => unknown): (text: string) => unknown {
  const [flag = flags] = flags.split(/[ [<]/);
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof CliError) || error.message.startsWith(flag)) throw error;
      throw usageError(`${flag}: ${error.message}`, error.advice ?? undefined);
    }
  };
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0.1 && value <= 3_600))
    throw usageError(`--watch ${text}: give the seconds between two looks, from 0.1 to 3600.`);
  return value;
}
