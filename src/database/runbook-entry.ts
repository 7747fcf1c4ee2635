/** A support query: when to use it, how to read its answer, and what to do next. */
export interface RunbookEntry {
  readonly name: string;
  readonly title: string;
  readonly when: string;
  readonly read: string;
  readonly next: string;
  /** Which index serves it, or what bounds it. */
  readonly index: string;
  /** Values that the query needs, all of them text. */
  readonly parameters: readonly RunbookParameter[];
  /** In the order of the answer. */
  readonly columns: readonly RunbookColumn[];
  /** For psql as it stands, with the names `leasehold` and `inbox`. runbookSql() puts other names and values in. */
  readonly sql: string;
}

export interface RunbookColumn {
  readonly name: string;
  readonly meaning: string;
}

export interface RunbookParameter {
  readonly name: string;
  readonly meaning: string;
  readonly example: string;
}
