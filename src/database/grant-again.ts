import type { Tx } from "../seams/database.js";
import { binder } from "./bind.js";
import type { Migration } from "./migration.js";
import { grants } from "./migrations.generated.js";
import { type Names, withNames } from "./names.js";
import { runOn } from "./run-on.js";
import { findMissingRoles } from "./statements.generated.js";

const kinds = ["producer", "worker", "viewer", "operator"];

/** The least-privilege roles of a schema. */
export function rolesOf(schema: string): readonly string[] {
  return kinds.map((kind) => `${schema}_${kind}`);
}

/** On the transaction of a migration: rights of the roles on what is new, where the roles exist. Without them workers would fail until somebody calls lh.grant(). */
export async function grantAgain(tx: Tx, names: Names, scope: Migration["scope"]): Promise<void> {
  const [found] = await runOn(tx, binder(names)(findMissingRoles, { roles: rolesOf(names.schema) }));
  if (found?.missing.length === 0) await tx.query(withNames(grants[scope], names));
}
