import { askToDrain } from "../database/statements.generated.js";
import { UnknownWorkerError } from "../errors.js";
import type { WorkersSeams } from "./workers.js";

/** Notes the request; the worker's next heartbeat finds it. */
export async function drain(seams: WorkersSeams, workerId: string): Promise<void> {
  const query = seams.bind(askToDrain, { id: workerId, now: seams.clock.databaseNow() });
  if ((await seams.database.run(query)).length === 0) throw new UnknownWorkerError(workerId);
}
