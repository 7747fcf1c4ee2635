import type { Finding } from "./finding.js";
import { type Import, importsOf } from "./imports.js";
import type { ParsedFile } from "./parse.js";

/** Each import in src/ that closes a cycle at run time, with the way round. Type-only imports do not count. */
export function checkCycles(files: readonly ParsedFile[]): readonly Finding[] {
  const graph = new Map(
    files
      .filter((file) => file.path.startsWith("src/"))
      .map((file) => [file.path, importsOf(file).filter((imported) => imported.isRuntime)]),
  );
  const finished = new Set<string>();
  return [...graph.keys()].sort().flatMap((path) => cyclesFrom(graph, finished, [path]));
}

/** Depth first; the way is the chain of files under way, so a target on it closes a cycle. */
function cyclesFrom(
  graph: ReadonlyMap<string, readonly Import[]>,
  finished: Set<string>,
  way: readonly string[],
): readonly Finding[] {
  const path = way.at(-1) ?? "";
  if (finished.has(path)) return [];
  const findings = (graph.get(path) ?? []).flatMap(({ target, line }) => {
    if (target === null) return [];
    const from = way.indexOf(target);
    if (from === -1) return cyclesFrom(graph, finished, [...way, target]);
    const round = [...way.slice(from), target].join(" -> ");
    return [{ path, line, message: `import cycle ${round}, move what both need into a third file` }];
  });
  finished.add(path);
  return findings;
}
