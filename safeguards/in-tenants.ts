import type { Safeguard } from "./safeguard.js";

const leases = "sql/migrations/0014_tenants.sql";
const statements = "sql/statements/tenants.sql";
const lost = ["test/worker/tenants-lost.test.ts"];
const database = ["test/database/tenants-win.test.ts", "test/database/tenants-predecessor.test.ts"];

export const safeguardsInTenants: readonly Safeguard[] = [
  {
    name: "an evicted owner keeps its tenants until it lets go or its TTL is over",
    file: leases,
    from: "    else (p_owner).status = 'dead' and ((p_owner).left_at is not null or (p_owner).has_session and coalesce((p_owner).free_since <= p_now - p_grace_ms * interval '1 ms', false))",
    to: "    else (p_owner).status = 'dead'",
    caughtBy: { tests: lost },
  },
  {
    name: "what an earlier process of the id had is its own until then",
    file: leases,
    from: "then coalesce(((p_owner).predecessors ->> p_incarnation)::float8 <= extract(epoch from p_now), true)",
    to: "then true",
    caughtBy: { tests: [...lost, ...database] },
  },
  {
    name: "the token that a win has seen",
    file: statements,
    from: "  where l.token = n.seen\n    and (l.owner",
    to: "  where (l.owner",
    caughtBy: { tests: database },
  },
  {
    name: "who wins a tenant is alive",
    file: statements,
    from: "and w.incarnation = :incarnation::text and w.status = 'alive' and w.last_seen_at + w.ttl > t.now)",
    to: ")",
    caughtBy: { tests: database },
  },
  {
    name: "a lease of a living owner can't be won",
    file: statements,
    from: "         or (select leasehold.tenant_is_lost(l.incarnation, w, :grace_ms::float8, n.now) from leasehold.workers w where w.id = l.owner))",
    to: "         or true)",
    caughtBy: { tests: database },
  },
  {
    name: "a late beat can't say that there is a session",
    file: "sql/statements/membership.sql",
    from: "has_session = w.has_session and :has_session::boolean,",
    to: "has_session = :has_session::boolean,",
    caughtBy: { tests: ["test/database/tenants-sure.test.ts"] },
  },
  {
    name: "a session that broke makes a process unsure before others may take it for dead",
    file: "src/membership/membership.ts",
    from: "    if (!this.record.toldSession || this.#session.isLocked) return trusted;",
    to: "    if (trusted >= 0) return trusted;",
    caughtBy: { tests: ["test/database/tenants-sure.test.ts"] },
  },
  {
    name: "a tenant's look at its signal asks the lease",
    file: "src/tenants/lease-signal.ts",
    from: "        if (!isAborted() && !isSure()) onUnsure();",
    to: "        isSure();",
    caughtBy: { tests: ["test/unit/tenants", ...lost] },
  },
  {
    name: "what was won too long ago is not started",
    file: "src/tenants/runs.ts",
    from: "    if (this.#isShut || ownership.sureForMs() <= 0) {",
    to: "    if (this.#isShut || ownership.sureForMs() < 0) {",
    caughtBy: { tests: ["test/unit/tenants"] },
  },
  {
    name: "nothing is started again after a freeze",
    file: "src/tenants/run.ts",
    from: "      if (!this.#parts.isSure()) {",
    to: "      if (this.#attempt < 0) {",
    caughtBy: { tests: ["test/unit/tenants"] },
  },
  {
    name: "a tenant has ended before its lease is given up",
    file: "src/tenants/runs.ts",
    from: "    const isInTime = await run.end(",
    to: "    const isInTime = true;\n    void run.end(",
    caughtBy: { tests: ["test/worker/tenants-lost.test.ts", "test/worker/tenants-moves.test.ts"] },
  },
  {
    name: "two ticks agree before a tenant moves",
    file: "src/tenants/opinions.ts",
    from: "    if (before?.target === target) return nowMs - before.sinceMs >= this.#ripeMs;",
    to: "    if (before?.target === target || before === undefined) return true;",
    caughtBy: { tests: ["test/unit/tenants"] },
  },
];
