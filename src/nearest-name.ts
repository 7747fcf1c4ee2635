import { defaults } from "./settings.js";

/** The name that a misspelled one probably means: at most a third of its letters differ. Null when none is that near. */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (given.length > defaults.optionNameMax) return null;
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = editDistance(plain(given), plain(name));
    const limit = Math.max(1, Math.floor(Math.max(given.length, name.length) / 3));
    if (distance > limit || distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** partition_key, PartitionKey and partitionKey are the same name in other styles. */
function plain(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

/** How many letters have to be added, taken away or replaced to make one text into the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? 0;
}
