/** A text file of the repository; `path` is relative to its root, with forward slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** One broken rule: where, what, and what to do instead. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export function formatFinding({ path, line, message }: Finding): string {
  return `${path}:${line}: ${message}`;
}

/** Findings for each line of a text that a pattern matches. */
export function findLines(file: TextFile, pattern: RegExp, message: string): readonly Finding[] {
  return file.text
    .split("\n")
    .flatMap((line, index) => (pattern.test(line) ? [{ path: file.path, line: index + 1, message }] : []));
}
