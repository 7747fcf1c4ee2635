import { listQueueSettings } from "../database/statements.generated.js";
import { type StoredQueue, storedQueue } from "../work/stored-queue.js";
import type { WorkersSeams } from "./workers.js";

/** A queue as it is stored. */
export interface QueueSummary extends StoredQueue {
  /** Since when nothing is claimed; null when the queue is not paused. */
  readonly pausedAt: Date | null;
  readonly createdAt: Date;
}

/** Every queue of the schema, by name. */
export async function listQueues(
  seams: Pick<WorkersSeams, "database" | "bind">,
): Promise<readonly QueueSummary[]> {
  const rows = await seams.database.run(seams.bind(listQueueSettings, {}));
  return rows.map((row) =>
    Object.freeze({ ...storedQueue(row), pausedAt: row.paused_at, createdAt: row.created_at }),
  );
}
