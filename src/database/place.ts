import { DatabaseRefusedError, NotMigratedError, RestoredSchemaError } from "../errors.js";
import { binder } from "./bind.js";
import type { GuardedDatabase } from "./guarded-database.js";
import type { Names } from "./names.js";
import { beginTokenEpoch, findPlace, type readServer } from "./statements.generated.js";

type Server = NonNullable<(typeof readServer)["row"]> | undefined;

/** Raises RestoredSchemaError for a schema that was loaded from a dump, copied or moved. The database refuses its tokens too (0015). */
export async function checkPlace(database: GuardedDatabase, names: Names, server: Server): Promise<void> {
  if (server?.place_exists !== true) return;
  const query = binder(names)(findPlace, {});
  const [place] = await database.run(query).catch((error: unknown) => {
    // A role that may not look draws no tokens either.
    if (error instanceof DatabaseRefusedError && error.sqlState === "42501") return [];
    throw error;
  });
  if (place?.is_elsewhere === true) throw new RestoredSchemaError(names.schema);
}

/** Accepts the place where the schema is now. Its tokens are higher from now on than any that were drawn before; the epoch is in their high bits. */
export async function beginEpoch(
  database: GuardedDatabase,
  names: Names,
  server: Server,
): Promise<{ readonly epoch: bigint }> {
  if (server?.place_exists !== true)
    throw new NotMigratedError(names.schema, "it was migrated by an earlier version");
  const [begun] = await database.run(binder(names)(beginTokenEpoch, {}));
  return { epoch: BigInt(begun?.epoch ?? 0) };
}
