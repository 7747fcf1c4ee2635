import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { safeguardsAtTheEdges } from "../../../safeguards/at-the-edges.js";
import { safeguardsInAdapters } from "../../../safeguards/in-adapters.js";
import { safeguardsInCode } from "../../../safeguards/in-code.js";
import { safeguardsInOperate } from "../../../safeguards/in-operate.js";
import { safeguardsInSql } from "../../../safeguards/in-sql.js";
import { safeguardsInTenants } from "../../../safeguards/in-tenants.js";
import { mutated } from "../../../safeguards/mutated.js";

const all = [
  ...safeguardsInSql,
  ...safeguardsInCode,
  ...safeguardsInAdapters,
  ...safeguardsAtTheEdges,
  ...safeguardsInTenants,
  ...safeguardsInOperate,
];

test.each(all)("$name: is where the list says, and so is what must notice", (safeguard) => {
  const text = readFileSync(safeguard.file, "utf8");
  expect(mutated(text, safeguard)).not.toBe(text);
  if ("tests" in safeguard.caughtBy)
    for (const path of safeguard.caughtBy.tests) expect(existsSync(path), path).toBe(true);
});
