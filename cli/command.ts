import type { ConnectOptions, Leasehold } from "../src/index.js";
import type { RanLine, Screen, View } from "./view.js";

/** One command of the table: everything that help, completion and the parser need to know, and what it does. */
export interface CommandSpec<O = Record<string, unknown>> {
  readonly name: string;
  readonly summary: string;
  /** More words for its help. */
  readonly about?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** Whole command lines; every command has at least one. */
  readonly examples: readonly string[];
  /** Adds --watch: the command runs again and again. */
  readonly isWatchable?: true;
  /** Adds --replica-url: what it shows may be a little old. */
  readonly asksReplica?: true;
  /** Adds --yes: the command asks before it acts. */
  readonly asks?: true;
  /** Drains by itself on SIGINT and SIGTERM, so nothing else may end it. */
  readonly ownsSignals?: true;
  /** With --json it prints lines while it runs, so its data are one line too. */
  readonly streams?: true;
  readonly subcommands?: readonly CommandSpec[];
  /** Runs when its parent is called without a subcommand. */
  readonly isDefault?: true;
  run?(context: Context, given: Given<O>): Promise<View>;
}

export interface ArgumentSpec {
  /** `<queue>`, `[payload]` or `[ids...]`. */
  readonly name: string;
  readonly about: string;
  readonly choices?: readonly string[];
}

export interface OptionSpec {
  /** `--limit <rows>`; the long name in camelCase is the key of the value. */
  readonly flags: string;
  readonly about: string;
  readonly choices?: readonly string[];
  readonly isRequired?: true;
  /** May be given several times; the value is an array. */
  readonly isRepeatable?: true;
  /** Turns the text into the value, or throws a UsageError. */
  parse?(text: string): unknown;
}

export interface Given<O> {
  readonly args: readonly string[];
  readonly options: O;
}

/** What a command may use of its surroundings. */
export interface Context {
  /** As given by --url and --schema, or by the environment. */
  readonly url: string | undefined;
  readonly schema: string | undefined;
  readonly isJson: boolean;
  /** True when a person can be asked. */
  readonly isInteractive: boolean;
  readonly environment: NodeJS.ProcessEnv;
  /** Of this package. */
  readonly version: string;
  now(): Date;
  /** Loads the library and connects; the same connection each time, closed when the command ends. The first call may say more. */
  connect(more?: ConnectOptions): Promise<Leasehold>;
  /** Says what is about to happen, with its count, and asks. Resolves when it may go on; throws when it may not. */
  confirm(what: string, isConfirmed: boolean | undefined): Promise<void>;
  /** Shows how many are done on a terminal's stderr; elsewhere nothing. */
  progress(what: string): (done: number) => void;
  /** A line on stderr, for people. */
  note(line: string): void;
  /** A line on stdout at once, for commands that stay. */
  say(line: string): void;
  /** Lines on stdout at once, wrapped and coloured for where they are printed; nothing with --json, which prints one object. */
  show(lines: (screen: Screen) => readonly string[]): void;
  /** Says what comes next, and resolves at Enter. */
  waitForEnter(words: string): Promise<void>;
  /** Calls back at Ctrl-C; returns what ends that. For commands that own their signals. */
  onInterrupt(listener: () => void): () => void;
  /** What is printed when the library ends the process before the command has: it does when a signal has drained its workers. */
  atExit(view: () => View): void;
  /** Runs another command line in this process, against the server of the url, by the same code. */
  runLine(argv: readonly string[], url: string): Promise<RanLine>;
  readStdin(): Promise<string>;
  /** Every command, loaded. */
  allCommands(): Promise<readonly CommandSpec[]>;
}

/** A spec with its options typed; type literals are needed, since an interface has no index signature. */
export function defineCommand<O>(spec: CommandSpec<O>): CommandSpec {
  return Object.freeze(spec) as CommandSpec;
}
