import { defaults } from "../settings.js";
import { storableText } from "./json.js";

/** Where an error was thrown, and its causes, without the message of the first: bounded, storable. Null for what has no stack. Never throws. */
export function stackOf(error: unknown): string | null {
  try {
    const parts: string[] = [];
    let next = error;
    for (let depth = 0; depth <= defaults.errorCausesMax && next instanceof Error; depth++) {
      const head = `${next.name}: ${next.message}`;
      const frames = framesOf(next, head);
      const part = depth === 0 ? frames : `caused by ${head.slice(0, defaults.errorStackMax / 4)}\n${frames}`;
      parts.push(part.slice(0, defaults.errorStackMax));
      next = next.cause;
    }
    const text = storableText(parts.join("\n"), defaults.errorStackMax).trimEnd();
    return text === "" ? null : text;
  } catch {
    return null; // A getter that throws: then there is none.
  }
}

/** V8 puts the name and the message in front. */
function framesOf(error: Error, head: string): string {
  const { stack } = error as { readonly stack?: unknown };
  if (typeof stack !== "string") return "";
  return (stack.startsWith(head) ? stack.slice(head.length) : stack).replace(/^\n/, "");
}
