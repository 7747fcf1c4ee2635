import type { Command, CommanderError } from "commander";
import { type CliError, usageError } from "./failure.js";

/** What the parser refused, with the nearest name and where to read on. */
export function misused(error: CommanderError, argv: readonly string[], root: Command): CliError {
  const path = pathOf(argv, root);
  const [first = "", ...rest] = error.message.replace(/^error: /, "").split("\n");
  const suggestion = /Did you mean (.*)\?/.exec(rest.join(" "))?.[0] ?? null;
  const more = `More: leasehold ${[...path.names, "--help"].join(" ")}`;
  if (error.code === "commander.help")
    return usageError(`leasehold ${path.names.join(" ")} needs a subcommand.`, more);
  const unknown = error.code === "commander.excessArguments" ? unknownSubcommand(argv, path) : null;
  if (unknown !== null) return usageError(unknown.message, [unknown.advice, more].filter(Boolean).join(" "));
  return usageError(
    `${first}${first.endsWith(".") ? "" : "."}`,
    suggestion === null ? more : `${suggestion} ${more}`,
  );
}

interface Path {
  readonly names: readonly string[];
  readonly command: Command;
}

/** The command that the words before the first unknown one name. */
function pathOf(argv: readonly string[], root: Command): Path {
  let command = root;
  const names: string[] = [];
  for (const word of argv) {
    if (word.startsWith("-")) continue;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    command = next;
    names.push(word);
  }
  return { names, command };
}

/** `jobs gett inbox ID` reaches the default subcommand with too many words: the first one was meant as a subcommand. */
function unknownSubcommand(
  argv: readonly string[],
  { names, command }: Path,
): { readonly message: string; readonly advice: string | null } | null {
  if (command.commands.length === 0) return null;
  const words = argv.filter((word) => !word.startsWith("-"));
  const given = words[names.length] ?? "";
  return hasNoSubcommand(
    names,
    command.commands.map((one) => one.name()),
    given,
  );
}

/** With the nearest of those that there are. */
export function hasNoSubcommand(
  names: readonly string[],
  known: readonly string[],
  given: string,
): { readonly message: string; readonly advice: string } {
  const near = known.find((name) => isNear(name, given));
  return {
    message: `leasehold ${names.join(" ")} has no subcommand ${given}.`,
    advice: near === undefined ? `There are ${known.join(", ")}.` : `Did you mean ${near}?`,
  };
}

/** One letter too many, missing, other or swapped. */
function isNear(name: string, given: string): boolean {
  if (Math.abs(name.length - given.length) > 1) return false;
  let start = 0;
  while (start < name.length && name[start] === given[start]) start++;
  const [restOfName, restOfGiven] = [name.slice(start), given.slice(start)];
  const isSwapped =
    restOfName[0] === restOfGiven[1] &&
    restOfName[1] === restOfGiven[0] &&
    restOfName.slice(2) === restOfGiven.slice(2);
  return (
    isSwapped ||
    restOfName.slice(1) === restOfGiven.slice(1) ||
    restOfName === restOfGiven.slice(1) ||
    restOfName.slice(1) === restOfGiven
  );
}
