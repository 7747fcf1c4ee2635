import type { ClaimRow } from "../database/rows.js";
import { readPayload } from "../database/statements.generated.js";
import { DatabaseRefusedError } from "../errors.js";
import type { QueueSeams } from "./queue-seams.js";
import { settle } from "./settle.js";

type JobRow = ClaimRow & { readonly id: string };

/** Too large as text, out of memory, no such character in the client's encoding, damaged on disk. */
const unreadableStates = new Set(["54000", "53200", "22P05", "22021", "XX000", "XX001", "XX002"]);

/** True when the server could not send a row: the claim was rolled back, and the next one would meet the same row. */
export function isUnreadable(error: unknown): error is DatabaseRefusedError {
  return error instanceof DatabaseRefusedError && unreadableStates.has(error.sqlState);
}

/**
 * Completes the rows of a claim that was made without payloads: reads each payload by itself. A job whose payload can't be read becomes a dead letter, so
 * that it never blocks its neighbours; the others are returned.
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
  const read: ClaimRow[] = rows.filter((row) => row.id === null);
  const blockedKeys = new Set<string>();
  for (const row of inOrder(rows)) {
    const key = row.partition_key ?? "";
    if (blockedKeys.has(key)) continue;
    const found = await readOne(seams, row, token);
    if (!("error" in found)) {
      read.push({ ...row, ...found });
      continue;
    }
    await bury(seams, row, { workerId, token, reason: found.error.message });
    // The settle has released the rows behind it: they wait until a person has decided.
    if (seams.settings.onDeadLetter === "park") blockedKeys.add(key);
  }
  return read;
}

async function readOne(
  seams: QueueSeams,
  row: JobRow,
  token: bigint,
): Promise<Pick<ClaimRow, "payload" | "headers"> | { readonly error: DatabaseRefusedError }> {
  try {
    const [found] = await seams.database.run(seams.bind(readPayload, { id: row.id, token }));
    return { payload: found?.payload ?? null, headers: found?.headers ?? null };
  } catch (error) {
    if (isUnreadable(error)) return { error };
    throw error;
  }
}

async function bury(
  seams: QueueSeams,
  row: JobRow,
  lease: { readonly workerId: string; readonly token: bigint; readonly reason: string },
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

function inOrder(rows: readonly ClaimRow[]): readonly JobRow[] {
  const jobs = rows.filter((row): row is JobRow => row.id !== null);
  return jobs.sort((left, right) => Number(BigInt(left.seq ?? 0) - BigInt(right.seq ?? 0)));
}
