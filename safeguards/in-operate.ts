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
    name: "a promotion looks past held slots",
    file: "sql/migrations/0003_queue.sql",
    from: "    v_window := p_limit * 10;",
    to: "    v_window := p_limit;",
    caughtBy: { tests: ["test/regression/0045-held-slot-hides-nobody.test.ts"] },
  },
];
