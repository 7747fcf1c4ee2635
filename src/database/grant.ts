import { MissingRightError, NotMigratedError } from "../errors.js";
import type { Tx } from "../seams/database.js";
import { defaults } from "../settings.js";
import { binder } from "./bind.js";
import { rolesOf } from "./grant-again.js";
import { type MigrateSeams, step } from "./migrate.js";
import { withNames } from "./names.js";
import { runOn } from "./run-on.js";
import { findMissingRoles, listQueues, readServer } from "./statements.generated.js";
import { libraryOf } from "./version.js";

/** Creates the roles that are missing and gives all of them their rights on the schema and its queues. */
export async function grant(seams: MigrateSeams, schema: string): Promise<void> {
  const names = { schema, queue: defaults.queue };
  const [server] = await seams.database.run(binder(names)(readServer, {}));
  if (server?.queues_exists !== true) throw new NotMigratedError(schema, "its tables are missing");
  const { grants } = libraryOf(seams);
  await step(seams, names, "the grants", async (tx) => {
    await checkMayCreateRoles(tx, schema);
    await tx.query(withNames(grants.schema, names));
    const queues = await runOn(tx, binder(names)(listQueues, {}));
    for (const queue of queues) await tx.query(withNames(grants.queue, { schema, queue: queue.name }));
  });
}

/** The owner of a schema needs no right on roles when they exist already. */
async function checkMayCreateRoles(tx: Tx, schema: string): Promise<void> {
  const bind = binder({ schema, queue: defaults.queue });
  const [found] = await runOn(tx, bind(findMissingRoles, { roles: rolesOf(schema) }));
  if (found === undefined || found.may_create || found.missing.length === 0) return;
  const statements = found.missing.map((role) => `create role ${role} nologin`).join("; ");
  throw new MissingRightError("CREATEROLE", `the roles ${found.missing.join(", ")} can't be created`, {
    action: `Let an administrator run: ${statements}; then call lh.grant() again`,
  });
}
