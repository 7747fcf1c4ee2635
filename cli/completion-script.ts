import type { CommandSpec } from "./command.js";
import { globalOptionsOf, optionsOf } from "./program.js";

/** One place on the command line, and the words that may follow. */
interface Place {
  /** "" for the first word, `queues`, `queues create`. */
  readonly path: string;
  readonly words: readonly (readonly [word: string, about: string])[];
}

type Shell = "bash" | "zsh" | "fish";

/** A script that completes commands, subcommands, options and fixed values; it starts nothing, so it answers at once. */
export function completionScript(shell: Shell, specs: readonly CommandSpec[]): string {
  const places = [root(specs), ...specs.flatMap((spec) => placesOf(spec, spec.name))];
  switch (shell) {
    case "bash":
      return bash(places);
    case "zsh":
      return zsh(places);
    case "fish":
      return fish(places);
    default:
      return shell satisfies never;
  }
}

function root(specs: readonly CommandSpec[]): Place {
  return {
    path: "",
    words: [...specs.map(({ name, summary }) => [name, summary] as const), ...globalWords()],
  };
}

function placesOf(spec: CommandSpec, path: string): readonly Place[] {
  const subs = spec.subcommands ?? [];
  const standard = subs.find(({ isDefault }) => isDefault === true);
  const words = [
    ...subs.map(({ name, summary }) => [name, summary] as const),
    ...(spec.arguments ?? []).flatMap(({ choices = [], about }) =>
      choices.map((choice) => [choice, about] as const),
    ),
    ...[spec, ...(standard === undefined ? [] : [standard])].flatMap(optionWords),
    ...globalWords(),
  ];
  return [{ path, words }, ...subs.flatMap((sub) => placesOf(sub, `${path} ${sub.name}`))];
}

function optionWords(spec: CommandSpec): readonly (readonly [string, string])[] {
  return optionsOf(spec).map(({ flags, about }) => [flags.split(" ")[0] ?? flags, about] as const);
}

function globalWords(): readonly (readonly [string, string])[] {
  const own = globalOptionsOf().map(({ flags, about }) => [flags.split(" ")[0] ?? flags, about] as const);
  return [...own, ["--help", "print help"]];
}

function bash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) => `    "${path}") words="${words.map(([word]) => word).join(" ")}" ;;`,
  );
  return `# bash completion of leasehold
_leasehold() {
  local path="" word words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${path:+$path }$word" in
${pathCases(places)}
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _leasehold leasehold
`;
}

/** Words that lead to another place; all else on the line is an argument or an option. */
function pathCases(places: readonly Place[]): string {
  const paths = places.map(({ path }) => path).filter((path) => path !== "");
  return `      ${paths.map((path) => `"${path}"`).join(" | ")}) path="\${path:+$path }$word" ;;`;
}

function zsh(places: readonly Place[]): string {
  const quoted = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(":", "\\:");
  const cases = places.map(({ path, words }) => {
    const described = words.map(([word, about]) => `'${quoted(word)}:${quoted(about)}'`);
    return `    "${path}") described=(${described.join(" ")}) ;;`;
  });
  return `#compdef leasehold
# zsh completion of leasehold
_leasehold() {
  local place="" word
  local -a described
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    case "\${place:+$place }$word" in
${pathCases(places).replaceAll("path", "place")}
    esac
  done
  case "$place" in
${cases.join("\n")}
  esac
  _describe 'leasehold' described || _files
}
if [ "$funcstack[1]" = "_leasehold" ]; then _leasehold "$@"; else compdef _leasehold leasehold; fi
`;
}

function fish(places: readonly Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = places.flatMap(({ path, words }) =>
    words.map(([word, about]) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${quoted(word)}`;
      return `complete -c leasehold -n ${quoted(`__leasehold_at ${quoted(path)}`)} ${what} -d ${quoted(about)}`;
    }),
  );
  const paths = places.map(({ path }) => path).filter((path) => path !== "");
  return `# fish completion of leasehold
function __leasehold_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$place $word")
    if contains -- "$next" ${paths.map(quoted).join(" ")}
      set place $next
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join("\n")}
`;
}
