import type { Safeguard } from "./safeguard.js";

const redrive = "sql/migrations/0009_redrive.sql";

export const safeguardsInOperate: readonly Safeguard[] = [
  {
    name: "the end of a redrive's set",
    file: "sql/statements/operate.sql",
    from: "and seq < :below::bigint\n",
    to: "and (seq < :below::bigint or true)\n",
    caughtBy: { tests: ["test/regression/0040-redrive-fixes-its-set.test.ts"] },
  },
  {
    name: "the receipt of a batch that is sent again",
    file: redrive,
    from: "  if found then return null; end if;",
    to: "  return null;",
    caughtBy: { tests: ["test/regression/0040-redrive-fixes-its-set.test.ts"] },
  },
  {
    name: "a discard wakes the workers of the freed keys",
    file: redrive,
    from: "  perform leasehold.wake_workers('inbox', v_freed);\n",
    to: "",
    caughtBy: { tests: ["test/regression/0043-discard-wakes.test.ts"] },
  },
  {
    name: "no more than 1 000 strays are moved at once",
    file: "sql/migrations/0002_archive.sql",
    from: "limit 1001) s'",
    to: "limit 1000) s'",
    caughtBy: { tests: ["test/regression/0042-many-strays-stop-no-settle.test.ts"] },
  },
  {
    name: "a discard tests the status of the locked row",
    file: "sql/migrations/0009_redrive.sql",
    from: "and j.status = any(p_statuses) and j.status <> 'processing' order by",
    to: "and j.status <> 'processing' order by",
    caughtBy: { tests: ["test/regression/0103-a-discard-tests-the-locked-row.test.ts"] },
  },
];
