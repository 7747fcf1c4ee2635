// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text of others on one line of a terminal: nothing in it moves the cursor, changes colours or turns the direction. */
export function plainText(text: string): string {
  return text.replaceAll(/(?<!\s)\s*[\r\n]+\s*/g, " ").replaceAll(control, escaped);
}

/** Data as one line of JSON. A terminal acts on more control characters than JSON escapes; with these escaped too the data are the same. */
export function jsonText(data: unknown): string {
  return JSON.stringify(data).replaceAll(control, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
