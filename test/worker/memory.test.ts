import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openFleet } from "../support/fleet.js";
import { isFull } from "../support/length.js";
import { setup, type World } from "../support/world.js";
import { until } from "./worker-world.js";

/**
 * The memory of a worker depends on what it has in hand and not on what waits: it drains from a large backlog for a while, and the resident memory of
 * its process is read from /proc.
 */

const backlog = isFull ? 1_000_000 : 60_000;
const payloadBytes = 2_048;
/** So many are done before its memory is judged, however long that takes. */
const doneMin = isFull ? 100_000 : 10_000;
const limitMb = 250;
const linuxOnly = { meta: { skipReason: "runs on Linux only" } };

/** Straight into the table: a million rows through enqueue would take longer than the test. */
async function fill(world: World, workMs: number): Promise<void> {
  await world.sql(
    `insert into leasehold.inbox (kind, payload, partition_key)
     select 'work', jsonb_build_object('n', n / 10000, 'workMs', $2::int, 'text', repeat('x', $3::int)), 'key:' || (n % 10000)
     from generate_series(0, $1::int - 1) n`,
    [backlog, workMs, payloadBytes],
  );
  await world.sql(`analyze leasehold.inbox`);
}

/** A line of /proc/<pid>/status in MB: VmRSS is what is resident now, VmHWM the most there ever was. */
function megabytesOf(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1_024);
}

async function sample(world: World, pid: number): Promise<readonly number[]> {
  const samples: number[] = [];
  const isDone = async (): Promise<boolean> => {
    samples.push(megabytesOf(pid, "VmRSS"));
    return (await completed(world)) >= doneMin;
  };
  await until("enough is done", isDone, 240_000);
  return samples;
}

async function completed(world: World): Promise<number> {
  const [row] = await world.sql<{ count: number }>(
    `select count(*)::int as count from leasehold.inbox_archive`,
  );
  return row?.count ?? 0;
}

test.skipIf(process.platform !== "linux").for([
  { what: "handlers that return at once", workMs: 0, concurrency: 8 },
  { what: "many handlers of 50 ms", workMs: 50, concurrency: 100 },
])(
  `a worker with a backlog of ${backlog} jobs of 2 KB stays under ${limitMb} MB, $what`,
  { ...linuxOnly, timeout: 300_000 },
  async ({ what, workMs, concurrency }) => {
    const world = await setup();
    await world.queue();
    await fill(world, workMs);
    const fleet = openFleet(world, { tells: false, concurrency });
    const { child } = await fleet.add("w0");
    const pid = child.pid ?? 0;
    const samples = await sample(world, pid);
    const peakMb = megabytesOf(pid, "VmHWM");
    const done = await completed(world);
    const atMb = (share: number): number => samples[Math.floor((samples.length - 1) * share)] ?? 0;
    const figures = { backlog, done, peakMb, startMb: atMb(0), halfMb: atMb(0.5), endMb: atMb(1) };
    process.stdout.write(`memory, ${what}: ${JSON.stringify(figures)}\n`);
    expect(peakMb).toBeLessThan(limitMb);
  },
);
