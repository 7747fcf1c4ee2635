import type { Tx } from "../seams/database.js";
import { binder } from "./bind.js";
import type { Library, Migration } from "./migration.js";
import { type Names, withNames } from "./names.js";
import { runOn } from "./run-on.js";
import { findMissingRoles } from "./statements.generated.js";

const kinds = ["producer", "worker", "viewer", "operator"];

/** The least-privilege roles of a schema. */
export function rolesOf(schema: string): readonly string[] {
  return kinds.map((kind) => `${schema}_${kind}`);
}

/**
 * On the transaction of a migration: the rights of the roles, where they exist. Without them workers would fail until somebody calls lh.grant(). The file of a queue looks for the roles
 * itself; that of the schema would create them.
 */
export async function grantAgain(
  tx: Tx,
  { grants }: Library,
  names: Names,
  scope: Migration["scope"],
): Promise<void> {
  if (scope === "schema") {
    const [found] = await runOn(tx, binder(names)(findMissingRoles, { roles: rolesOf(names.schema) }));
    if (found?.missing.length !== 0) return;
  }
  await tx.query(withNames(grants[scope], names));
}
