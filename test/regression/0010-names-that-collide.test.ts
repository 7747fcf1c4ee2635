import { expect, test } from "vitest";
import { checkQueueName, checkSchemaName } from "../../src/database/names.js";

/** Reserved words and names of our own indexes passed the check and failed later, in SQL. */
test("a schema name that is an SQL keyword is refused", () => {
  for (const name of ["user", "order", "select", "table", "all", "default"])
    expect(() => checkSchemaName(name), name).toThrow();
});

test("a queue name that is the name of an index of the library is refused", () => {
  const names = [
    "dedupe_expiry",
    "receipts_expiry",
    "handled_age",
    "fences_age",
    "inbox_rest_age",
    "inbox_archive_id_idx",
    "inbox_archive_rest_id_idx",
  ];
  for (const name of names) expect(() => checkQueueName(name), name).toThrow();
});
