import { stripVTControlCharacters } from "node:util";

const ellipsis = "…";
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff01-\uff60\p{Emoji_Presentation}]/u;
const joined = /\p{Mn}|\p{Me}|[\u200b-\u200d]|\ufe0f/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const ownColour = /(\u001b\[(?:[012]|[39][1-6])m)/;

/** How many columns a terminal needs for the text. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += columnsOf(character);
  return width;
}

function columnsOf(character: string): number {
  if (joined.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** At most so many columns; what is cut ends with an ellipsis. The text has no colours yet. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}${ellipsis}`;
}

/** Data of others on one line: nothing in it moves the cursor or changes colours. The library has the same for its logs (src/plain-text.ts). */
export function plain(text: string): string {
  return text.replaceAll(/(?<!\s)\s*[\r\n]+\s*/g, " ").replaceAll(control, escaped);
}

/** Data as JSON. A terminal acts on more control characters than JSON escapes; with these escaped too the data are the same. Line breaks are those of the indent. */
export function jsonText(data: unknown, indent = 0): string {
  return JSON.stringify(data, null, indent).replaceAll(control, (character) =>
    character === "\n" ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A finished line as it may be printed: of what moves or colours only the colours of paint.ts stay. */
export function printable(line: string, hasColour: boolean): string {
  if (!hasColour) return plain(line);
  return line
    .split(ownColour)
    .map((part, at) => (at % 2 === 1 ? part : plain(part)))
    .join("");
}

/** Lines of whole words, of text that is not coloured yet; a word that is longer than the width stays whole. */
export function wrap(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of plain(text).split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && widthOf(indent) + widthOf(longer) > width) {
      lines.push(indent + line);
      line = word;
    } else line = longer;
  }
  return [...lines, indent + line];
}
