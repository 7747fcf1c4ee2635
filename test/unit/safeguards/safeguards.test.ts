import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { safeguardsInCode } from "../../../safeguards/in-code.js";
import { safeguardsInSql } from "../../../safeguards/in-sql.js";
import { safeguardsInTenants } from "../../../safeguards/in-tenants.js";
import { mutated } from "../../../safeguards/mutated.js";

test.each([...safeguardsInSql, ...safeguardsInCode, ...safeguardsInTenants])(
  "$name: is where the list says, and so is what must notice",
  (safeguard) => {
    const text = readFileSync(safeguard.file, "utf8");
    expect(mutated(text, safeguard)).not.toBe(text);
    if ("tests" in safeguard.caughtBy)
      for (const path of safeguard.caughtBy.tests) expect(existsSync(path), path).toBe(true);
  },
);
