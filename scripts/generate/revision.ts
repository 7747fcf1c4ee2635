import { createHash } from "node:crypto";

/** What sql/revision says: the number of this state of the SQL, and the lowest number of a library that may work on a schema of it. */
export interface Revision {
  readonly revision: number;
  readonly oldest: number;
  readonly checksum: string;
}

/** After a merge the file may hold two versions and the marks of a conflict; the higher numbers count. */
export function parseRevision(text: string): Revision {
  const highest = (name: string) =>
    Math.max(
      0,
      ...[...text.matchAll(new RegExp(`^${name}: (\\d+)$`, "gm"))].map((match) => Number(match[1])),
    );
  const checksums = [...text.matchAll(/^checksum: ([0-9a-f]+)$/gm)];
  return {
    revision: highest("revision"),
    oldest: highest("oldest"),
    checksum: checksums.length === 1 ? (checksums[0]?.[1] ?? "") : "",
  };
}

/** The same revision while the SQL has not changed, else the next. */
export function nextRevision(stored: Revision, sql: readonly string[]): Revision {
  const checksum = createHash("sha256").update(sql.join("\0")).digest("hex").slice(0, 16);
  if (checksum === stored.checksum) return stored;
  return { revision: stored.revision + 1, oldest: Math.max(1, stored.oldest), checksum };
}

export function renderRevision({ revision, oldest, checksum }: Revision): string {
  return [
    "The state of the SQL in migrations/ and grants/. npm run generate raises the revision when they have changed.",
    "Raise `oldest` to `revision` by hand when a library of an earlier revision must not work on the new schema any more.",
    `revision: ${revision}`,
    `oldest: ${oldest}`,
    `checksum: ${checksum}`,
    "",
  ].join("\n");
}
