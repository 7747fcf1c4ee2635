import { deadLetter, retryAfter, type WorkingJob } from "../../src/index.js";
import { effectSql } from "../engine/recorder.js";
import type { World } from "../world/world.js";
import type { Member } from "./member.js";
import type { SimJob } from "./plan.js";

type HandledJob = Pick<
  WorkingJob,
  "id" | "partitionKey" | "seq" | "fenceToken" | "attempt" | "payload" | "signal" | "transaction"
>;

/** Does what its job says, and tells the history. */
export function handlerOf(
  world: World,
  member: Member,
  crash: () => void,
): (job: HandledJob) => Promise<void> {
  const { process, clock, lh } = member;
  return async (job) => {
    const { id, partitionKey: key, fenceToken: token, attempt } = job;
    const plan = job.payload as SimJob;
    const tell = (is: "started" | "ended"): void => {
      world.trace.say(process.name, `   ${is} ${key} #${job.seq} attempt ${attempt} ${id}`);
      world.note({ is, atMs: world.schedule.nowMs, process: process.name, id, key, token });
    };
    tell("started");
    try {
      await clock.sleep(plan.workMs, plan.heeds ? job.signal : undefined);
      if (plan.heeds && job.signal.aborted) throw job.signal.reason;
      if (plan.ends === "with its process" && attempt <= 2) {
        crash();
        await new Promise(() => {}); // Nothing follows a crash.
      }
      if (attempt <= plan.failures) throw retryAfter(200, "told to fail");
      if (plan.ends === "as a dead letter") throw deadLetter("told to give up");
      const values = [plan.effect, id, key, String(token)];
      if (plan.effect === "once")
        await job.transaction((tx) => tx.query(effectSql(world.engine.schema), values));
      if (plan.effect === "fenced") {
        await lh.transaction(async (tx) => {
          await lh.fence(tx, key, token);
          await tx.query(effectSql(world.engine.schema), values);
        });
      }
    } finally {
      tell("ended");
    }
  };
}
