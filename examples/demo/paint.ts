/** Text for a terminal: pieces with a style, clipped to the width before they are coloured, so that colours never upset the layout. */

export type Style = "plain" | "title" | "label" | "figure" | "good" | "bad" | "warn" | "bar";
export type Piece = readonly [text: string, style?: Style];

const codes: Readonly<Record<Style, string>> = {
  plain: "",
  title: "1;36",
  label: "2",
  figure: "1",
  good: "32",
  bad: "1;31",
  warn: "33",
  bar: "36",
};

export function line(pieces: readonly Piece[], columns: number, hasColours: boolean): string {
  let left = columns;
  let text = "";
  for (const [plain, style = "plain"] of pieces) {
    const part = [...plain].slice(0, Math.max(0, left)).join("");
    left -= [...part].length;
    const code = codes[style];
    text += hasColours && code !== "" && part !== "" ? `\x1b[${code}m${part}\x1b[0m` : part;
  }
  return text;
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of at most `width` characters, in steps of an eighth of one. */
export function bar(share: number, width: number): string {
  const steps = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  return "█".repeat(Math.floor(steps / 8)) + eighths[steps % 8];
}

const levels = "▁▂▃▄▅▆▇█";

export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const top = Math.max(1, ...shown);
  const text = shown.map((value) => levels[Math.min(7, Math.max(0, Math.round((value / top) * 7)))]).join("");
  return text.padStart(width);
}
