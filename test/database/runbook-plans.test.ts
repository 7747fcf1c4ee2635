import type { Client } from "pg";
import { expect, test } from "vitest";
import { runbookTexts } from "../../src/database/runbook.generated.js";
import { runbook } from "../../src/index.js";
import { isFull } from "../support/length.js";
import { setup, type World } from "../support/world.js";

/**
 * What every query does on a large queue, by the server's own account of the rows that each step of the plan touched. The verdict is about rows, never about time. In the
 * full proof there are more keys than a query looks at, so its limit is reached.
 */
const rowsMax = isFull ? 1_000_000 : 100_000;
const keysMax = rowsMax / 5;

/** The limits that the headers of the queries name. */
const looksMax = 101_000;
const sortedMax = 10_000;
const sampleBytesMax = 33_554_432;

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Sort Method"?: string;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

test.each([
  ["inbox", "key"],
  ["jobs", "none"],
] as const)(
  `on ${rowsMax} rows of %s (order %s) no query reads or sorts the backlog`,
  async (queue, order) => {
    const world = await setup();
    await world.queue(queue, { order });
    await fill(world, queue);
    const client = await world.client();
    for (const { name, parameters } of runbook) {
      const given = parameters.map((one) => (one.name === "key" ? "key:77" : "w1"));
      const root = await planOf(client, textOf(world, name, queue), given);
      expect({ name, faults: faultsOf(root, queue) }).toEqual({ name, faults: [] });
    }
  },
);

function textOf(world: World, name: string, queue: string): string {
  const text = (runbookTexts[name] ?? "").replaceAll(/\bleasehold(?=_|\b)/g, world.schema);
  return text.replaceAll(/\binbox(?=_|\b)/g, queue);
}

/** A tenth is scheduled, a tenth dead, the first rows of some keys are in process, the rest waits. */
async function fill(world: World, queue: string): Promise<void> {
  await world.sql(
    `insert into leasehold.${queue} (id, seq, kind, payload, partition_key, max_attempts, status, available_at, created_at, finished_at, last_error, claimed_by, claimed_at,
       lease_expires_at, lease_generation, priority)
     select ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, n, 'k' || n % 5, '1', 'key:' || n % $2, 12, r.status,
       now() + case r.status when 'scheduled' then interval '1 h' else n * interval '1 ms' - interval '2 h' end, now() - interval '2 h' + n * interval '1 ms',
       case r.status when 'dead_letter' then now() end, case r.status when 'dead_letter' then 'failed ' || n end,
       case r.status when 'processing' then 'w' || n % 3 end, case r.status when 'processing' then now() end,
       case r.status when 'processing' then now() - interval '5 s' + n % 10 * interval '1 s' end, 0, n % 3
     from generate_series(1, $1::int) n cross join lateral (
       select case when n % 10 = 0 then 'scheduled' when n % 10 = 1 then 'dead_letter' when n < 500 then 'processing' else 'pending' end) r(status)`,
    [rowsMax, keysMax],
  );
  await world.sql(`analyze leasehold.${queue}`);
}

async function planOf(client: Client, text: string, values: readonly string[]): Promise<PlanNode> {
  await client.query("set jit = off");
  const { rows } = await client.query<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    `explain (analyze, buffers, timing off, format json) ${text}`,
    [...values],
  );
  return rows[0]!["QUERY PLAN"][0]!.Plan;
}

/** What the plan did that the backlog's size would make expensive. Steps that were never run count for nothing. */
function faultsOf(node: PlanNode, queue: string): readonly string[] {
  const loops = node["Actual Loops"];
  if (loops === 0) return [];
  const kind = node["Node Type"];
  const touched = (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * loops;
  const isHot = node["Relation Name"] === queue;
  const faults: string[] = [];
  if (isHot && kind === "Seq Scan") faults.push(`reads the whole table: ${touched} rows`);
  if (isHot && kind === "Sample Scan" && blocksOf(node) * 8_192 > sampleBytesMax * 1.2)
    faults.push(`samples ${blocksOf(node)} pages`);
  if (isHot && kind !== "Sample Scan" && touched > looksMax) faults.push(`${kind} touches ${touched} rows`);
  const sorted = node.Plans?.[0]?.["Actual Rows"] ?? 0; // in one loop
  if (kind === "Sort" && sorted > sortedMax && node["Sort Method"] !== "top-N heapsort")
    faults.push(`sorts ${sorted} rows by ${node["Sort Method"]}`);
  return [...faults, ...(node.Plans ?? []).flatMap((child) => faultsOf(child, queue))];
}

const blocksOf = (node: PlanNode) => (node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0);
