import type { ClaimRow } from "../database/rows.js";
import { readPayload } from "../database/statements.generated.js";
import { DatabaseRefusedError } from "../errors.js";
import { release } from "./outcome.js";
import type { QueueSeams } from "./queue-seams.js";
import { settle } from "./settle.js";

type JobRow = ClaimRow & { readonly id: string };

/** About the row's own data: too large as text, no such character in the client's encoding, damaged on disk. Only these bury a job. */
const rowStates = new Set(["54000", "22P05", "22021", "XX001", "XX002"]);
/** About the server, or about a row that it can't cope with: out of memory, an internal error. */
const doubtfulStates = new Set(["53200", "XX000"]);

/** True when the server may have been unable to send a row: the claim was rolled back, and the next one may meet the same row. */
export function isUnreadable(error: unknown): error is DatabaseRefusedError {
  return error instanceof DatabaseRefusedError && (describesRow(error) || doubtfulStates.has(error.sqlState));
}

function describesRow(error: DatabaseRefusedError): boolean {
  return rowStates.has(error.sqlState);
}

/** The rows of one claim, and who holds them. */
interface Lease {
  readonly workerId: string;
  readonly token: bigint;
}

/**
 * Completes the rows of a claim that was made without payloads: reads each payload by itself. A job whose own data can't be read becomes a dead letter, so
 * that it never blocks its neighbours. One that can't be read for a reason that may be the server's goes back unchanged. The others are returned; when there
 * are none, the claim fails with what the server said.
 */
export async function readPayloads(
  seams: QueueSeams,
  rows: readonly ClaimRow[],
  workerId: string,
): Promise<readonly ClaimRow[]> {
  const token = BigInt(
    rows.find((row) => row.id === null && row.partition_bucket === null && row.lease_generation !== null)
      ?.lease_generation ?? 0,
  );
  const lease = { workerId, token };
  const held = new Set(inOrder(rows));
  try {
    const read = await readJobs(seams, held, lease);
    return [...rows.filter((row) => row.id === null), ...read];
  } catch (error) {
    // If this fails too, the leases run out.
    await giveBack(seams, [...held], lease).catch(() => {});
    throw error;
  }
}

/** Takes what it buries out of `held`, with the rows that go back with it. */
async function readJobs(seams: QueueSeams, held: Set<JobRow>, lease: Lease): Promise<readonly ClaimRow[]> {
  const { order, onDeadLetter } = seams.settings;
  const read: ClaimRow[] = [];
  const doubtful: JobRow[] = [];
  let doubt: DatabaseRefusedError | null = null;
  const blockedKeys = new Set<string>();
  for (const row of [...held]) {
    const key = row.partition_key ?? "";
    if (!held.has(row) || blockedKeys.has(key)) continue;
    const found = await readOne(seams, row, lease.token);
    if (found === null) continue;
    if (!("error" in found)) read.push({ ...row, ...found });
    else if (describesRow(found.error)) {
      await bury(seams, row, { ...lease, reason: found.error.message });
      held.delete(row);
      // The settle has released the rows behind it: they wait until a person has decided.
      if (onDeadLetter === "park") for (const other of held) if (isBehind(row, other)) held.delete(other);
    } else {
      doubt = found.error;
      doubtful.push(row);
      if (order === "key") blockedKeys.add(key); // Its release takes the rows behind it along.
    }
  }
  if (doubt !== null && read.length === 0) throw doubt;
  if (doubtful.length > 0) await giveBack(seams, doubtful, lease);
  return read;
}

/** Null when it is not held any more. */
async function readOne(
  seams: QueueSeams,
  row: JobRow,
  token: bigint,
): Promise<Pick<ClaimRow, "payload" | "headers"> | { readonly error: DatabaseRefusedError } | null> {
  try {
    const [found] = await seams.database.run(seams.bind(readPayload, { id: row.id, token }));
    return found ?? null;
  } catch (error) {
    if (isUnreadable(error)) return { error };
    throw error;
  }
}

async function giveBack(seams: QueueSeams, rows: readonly JobRow[], lease: Lease): Promise<void> {
  const { workerId, token: fenceToken } = lease;
  await settle(
    seams,
    rows.map(({ id }) => ({ job: { id, workerId, fenceToken }, outcome: release })),
  );
}

async function bury(
  seams: QueueSeams,
  row: JobRow,
  lease: Lease & { readonly reason: string },
): Promise<void> {
  const { name: queue } = seams.settings;
  const error = `undecodable: ${lease.reason}`;
  const job = { id: row.id, workerId: lease.workerId, fenceToken: lease.token };
  await settle(seams, [{ job, outcome: { is: "dead_letter", error } }]);
  const attempt = row.attempts ?? 0;
  seams.events.emit("job:failed", {
    queue,
    id: row.id,
    kind: row.kind ?? "",
    attempt,
    outcome: "dead_letter",
    error,
  });
}

function isBehind(row: JobRow, other: JobRow): boolean {
  return other.partition_key === row.partition_key && bySeq(row, other) < 0;
}

function inOrder(rows: readonly ClaimRow[]): readonly JobRow[] {
  const jobs = rows.filter((row): row is JobRow => row.id !== null);
  return jobs.sort(bySeq);
}

function bySeq(left: JobRow, right: JobRow): number {
  return Number(BigInt(left.seq ?? 0) - BigInt(right.seq ?? 0));
}
