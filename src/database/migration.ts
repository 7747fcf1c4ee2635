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
