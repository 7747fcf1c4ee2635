import type { TextFile } from "./statement-blocks.js";

export interface ParsedMigration {
  readonly id: number;
  readonly name: string;
  readonly scope: "schema" | "queue";
  readonly order: "key" | "none" | null;
  readonly sql: string;
}

/** Files in any order; ids must run from 1 without a gap, because a missing one means a lost or doubled file. */
export function parseMigrations(files: readonly TextFile[]): readonly ParsedMigration[] {
  const migrations = files.map((file) => ({ path: file.path, migration: parseMigration(file) }));
  migrations.sort((left, right) => left.migration.id - right.migration.id);
  for (const [index, { path, migration }] of migrations.entries()) {
    if (migration.id === index + 1) continue;
    throw new Error(
      `${path}:1: migration ${migration.id} stands where ${index + 1} is due, number without gaps`,
    );
  }
  return migrations.map(({ migration }) => migration);
}

function parseMigration(file: TextFile): ParsedMigration {
  const [, digits, name] = /(?:^|\/)(\d{4})_([a-z0-9_]+)\.sql$/.exec(file.path) ?? [];
  if (digits === undefined || name === undefined) {
    throw new Error(`${file.path}:1: not a migration's name, write it as 0001_slug.sql`);
  }
  const header = parseHeader(file);
  const scope = header.get("scope");
  if (scope !== "schema" && scope !== "queue") {
    throw new Error(`${file.path}:1: says no scope, begin with "--! scope: schema" or "--! scope: queue"`);
  }
  const order = header.get("order") ?? null;
  if (order !== null && order !== "key" && order !== "none") {
    throw new Error(`${file.path}:1: order "${order}" is unknown, write key or none`);
  }
  if (order !== null && scope === "schema") {
    throw new Error(
      `${file.path}:1: an order belongs to a queue, write "--! scope: queue" or drop the order`,
    );
  }
  if (/^[^-\n]*\bon all (functions|routines|tables|sequences) in schema\b/im.test(file.text)) {
    throw new Error(
      `${file.path}:1: changes rights on all of the schema, which costs every queue a write for each queue; name the objects`,
    );
  }
  return { id: Number(digits), name, scope, order, sql: file.text };
}

/** The `--! key: value` lines at the top of the file, among its other comment lines. */
function parseHeader(file: TextFile): ReadonlyMap<string, string> {
  const header = new Map<string, string>();
  let isTop = true;
  for (const [index, line] of file.text.split("\n").entries()) {
    if (!/^\s*(--|$)/.test(line)) isTop = false;
    if (!line.startsWith("--!")) continue;
    const place = `${file.path}:${index + 1}`;
    const [, key, value] = /^--!\s*([a-z]+):\s*(\S+)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined || (key !== "scope" && key !== "order")) {
      throw new Error(`${place}: "${line}" is not a header, write "--! scope: ..." or "--! order: ..."`);
    }
    if (!isTop) throw new Error(`${place}: header below the SQL, move it to the top`);
    if (header.has(key)) throw new Error(`${place}: ${key} is given twice, keep one`);
    header.set(key, value);
  }
  return header;
}
