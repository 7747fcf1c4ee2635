import type { Tx } from "../seams/database.js";
import { binder } from "./bind.js";
import { derivedNames } from "./derived-names.js";
import { created } from "./migrations.generated.js";
import type { Names } from "./names.js";
import { runOn } from "./run-on.js";
import { hasFunctionDefaults, listOpenFunctions } from "./statements.generated.js";

/**
 * Runs work that creates functions, so that none of them is open to everybody afterwards, which is what PostgreSQL does by default; ours are for the roles of
 * sql/grants alone. The default is changed for the length of the work, on the caller's transaction: to revoke afterwards writes every function a second time, and the
 * functions of a queue are 30 kB of pg_proc. The change waits for whoever else changes defaults of the role, so tables are
 * locked in the work and not before it. A role that has a default of its own keeps it; then, and for functions that were open before, rights are revoked.
 */
export async function withClosedFunctions(tx: Tx, names: Names, work: () => Promise<void>): Promise<void> {
  const [role] = await runOn(tx, binder(names)(hasFunctionDefaults, {}));
  const isPlain = role?.has_defaults === false;
  if (isPlain) await tx.query("alter default privileges revoke execute on functions from public");
  await work();
  if (isPlain) await tx.query("alter default privileges grant execute on functions to public");
  const functions = [...created.schema.functions, ...derivedNames(names.queue).functions];
  const open = await runOn(tx, binder(names)(listOpenFunctions, { functions }));
  if (open.length > 0)
    await tx.query(`revoke all on function ${open.map((row) => row.signature).join(", ")} from public`);
}
