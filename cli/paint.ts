/** Colours of a terminal, by what they mean. Without colours every one of them returns the text as it is. */
export interface Paint {
  readonly hasColour: boolean;
  bold(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
  /** One of a few colours that are easy to tell apart, for workers on a ring. */
  member(index: number, text: string): string;
}

const memberColours = [36, 33, 35, 32, 34, 31, 96, 93, 95, 92, 94, 91] as const;

export function paint(hasColour: boolean): Paint {
  const sgr = (codes: number, text: string): string =>
    hasColour && text !== "" ? `\u001b[${codes}m${text}\u001b[0m` : text;
  return Object.freeze({
    hasColour,
    bold: (text: string) => sgr(1, text),
    faint: (text: string) => sgr(2, text),
    good: (text: string) => sgr(32, text),
    warn: (text: string) => sgr(33, text),
    bad: (text: string) => sgr(31, text),
    member: (index: number, text: string) => sgr(memberColours[index % memberColours.length] ?? 0, text),
  });
}
