import type { Safeguard } from "./safeguard.js";

/** The text of a file without a safeguard. Throws when the text to take out is not there, or not there once. */
export function mutated(text: string, { name, file, from, to }: Safeguard): string {
  const times = text.split(from).length - 1;
  if (times !== 1)
    throw new Error(`The safeguard "${name}" is in ${file} ${times} times; it must be there once.`);
  return text.replace(from, () => to);
}
