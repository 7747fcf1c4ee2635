/** One file of sql/migrations. */
export interface Migration {
  readonly id: number;
  readonly name: string;
  /** `schema`: once; `queue`: once for every queue, also for those created later. */
  readonly scope: "schema" | "queue";
  /** Queue migrations that concern one order only. */
  readonly order: "key" | "none" | null;
  readonly sql: string;
}

/** Names of tables, views, sequences and indexes, and of functions. */
export interface ObjectNames {
  readonly relations: readonly string[];
  readonly functions: readonly string[];
}

export interface CreatedNames {
  readonly schema: ObjectNames;
  readonly queue: ObjectNames;
}

/** The SQL that a version of the library brings. Its revision rises with every change of it (sql/revision). */
export interface Library {
  readonly revision: number;
  /** The lowest revision of a library that may work on a schema of this one. */
  readonly oldest: number;
  readonly migrations: readonly Migration[];
  /** The rights of the roles on the schema and on one queue: the files of sql/grants. */
  readonly grants: { readonly [scope in Migration["scope"]]: string };
}
