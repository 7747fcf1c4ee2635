import { readFile } from "node:fs/promises";
import { usageError } from "./failure.js";

export async function textOf(path: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(`The file ${path} can't be read: ${reason}`);
  }
  return utf8(bytes, `The file ${path}`);
}

/** Bytes as text. What is no UTF-8 would be stored as something else. */
export function utf8(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(`${what} is not UTF-8: ${reason}`, "Convert it: iconv -f latin1 -t utf-8");
  }
}

/** An argument that is stored. Node gives U+FFFD for each byte that is no UTF-8, so the text would not be what was meant. */
export function stored(what: string, text: string): string {
  if (!text.includes("\ufffd")) return text;
  const advice = "Check the encoding of the terminal. In JSON the character itself is written as \\ufffd.";
  throw usageError(`${what} has bytes that are not UTF-8, or the character U+FFFD.`, advice);
}
