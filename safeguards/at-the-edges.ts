import type { Safeguard } from "./safeguard.js";

const walk = "sql/migrations/0005_claim_key.sql";

/** What keeps claims going beside hostile rows, late commits, clocks and other versions. */
export const safeguardsAtTheEdges: readonly Safeguard[] = [
  {
    name: "a known key is claimed from the commit watermark",
    file: "src/work/commit-watermark.ts",
    from: "    const floor = this.#skipped.get(key) ?? seq;\n",
    to: "    const floor = this.#skipped.get(key) ?? seq + doneTo;\n",
    caughtBy: { tests: ["test/worker/late-commits.test.ts", "test/unit/work/commit-watermark.test.ts"] },
  },
  {
    name: "the size of a payload as text",
    file: "sql/migrations/0001_schema.sql",
    from: "  select coalesce(pg_catalog.octet_length(p_payload::text), 4) + coalesce(pg_catalog.octet_length(p_headers::text), 2)",
    to: "  select coalesce(pg_catalog.pg_column_size(p_payload), 4) + coalesce(pg_catalog.pg_column_size(p_headers), 2)",
    caughtBy: { tests: ["test/regression/0070-one-row-stops-all-claims.test.ts"] },
  },
  {
    name: "a row that can't be sent is claimed without its payload",
    file: "src/work/claim.ts",
    from: "    if (!isUnreadable(error)) throw error;\n    return await claimUnread",
    to: "    if (isUnreadable(error) || error !== null) throw error;\n    return await claimUnread",
    caughtBy: { tests: ["test/regression/0070-one-row-stops-all-claims.test.ts"] },
  },
  {
    name: "the limit of bytes of a claim, order key",
    file: walk,
    from: "      if bytes + h.bytes > p_bytes then",
    to: "      if false then",
    caughtBy: { tests: ["test/regression/0071-claims-have-a-limit-of-bytes.test.ts"] },
  },
  {
    name: "a claim by hand begins where the last one stopped",
    file: "sql/migrations/0006_claim_key_call.sql",
    from: "select coalesce(nullif(b.after, ''), t.hand_key, '')",
    to: "select coalesce(nullif(b.after, ''), '')",
    caughtBy: { tests: ["test/regression/0072-claims-by-hand-reach-every-key.test.ts"] },
  },
  {
    name: "a row without a delay is due whatever the clock says",
    file: walk,
    from: "j.available_at <= greatest(p_now, j.created_at) and (j.attempts = 0 or j.seq = w.seq)",
    to: "j.available_at <= p_now and (j.attempts = 0 or j.seq = w.seq)",
    caughtBy: { tests: ["test/regression/0073-clock-set-back.test.ts"] },
  },
  {
    name: "a lost run goes back whole",
    file: "sql/migrations/0003_queue.sql",
    from: "    having bool_and(j.id = any(v_locked))",
    to: "    having bool_or(j.id = any(v_locked))",
    caughtBy: { tests: ["test/regression/0074-a-lost-run-goes-back-whole.test.ts"] },
  },
  {
    name: "a run ends at a row of a kind that the worker lacks",
    file: walk,
    from: " and (p_kinds is null or j.kind = any(p_kinds)) as is_ready,",
    to: " as is_ready,",
    caughtBy: { tests: ["test/worker/kinds.test.ts"] },
  },
  {
    name: "a bucket has a second owner for kinds that its owner lacks",
    file: "src/membership/owned-buckets.ts",
    from: "  return second === undefined ? owned",
    to: "  return second === undefined || second.size >= 0 ? owned",
    caughtBy: { tests: ["test/worker/kinds.test.ts"] },
  },
  {
    name: "the first token of a connection looks at the timeline",
    file: "sql/migrations/0015_token_epochs.sql",
    from: "  if v_timeline > v_was.timeline then\n    perform leasehold.begin_token_epoch();",
    to: "  if false then\n    perform leasehold.begin_token_epoch();",
    caughtBy: { tests: ["test/restore/point-in-time.test.ts"] },
  },
  {
    name: "a schema that was copied draws no token",
    file: "sql/migrations/0015_token_epochs.sql",
    from: "  if leasehold.is_elsewhere(v_was) then",
    to: "  if false then",
    caughtBy: { tests: ["test/restore/copies.test.ts"] },
  },
];
