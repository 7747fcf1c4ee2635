import { DatabaseRefusedError, MigrationError, MissingRightError } from "../errors.js";

/** The role that we are connected as may not do it. */
export function isDenied(error: unknown): boolean {
  const refused = error instanceof MigrationError ? error.cause : error;
  return refused instanceof DatabaseRefusedError && refused.sqlState === "42501";
}

/** For what only the owner of the schema may do. */
export function notTheOwner(schema: string, what: string, cause: unknown): MissingRightError {
  const action =
    "Create or change it as the owner of the schema; docs/operating.md says what each role may do";
  return new MissingRightError(`to change the schema ${schema}`, `this step failed: ${what}`, {
    action,
    cause,
  });
}
