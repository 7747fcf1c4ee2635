import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../simulation/dice.js";
import type { Leasehold, Queue } from "../src/index.js";
import type { Journal } from "./journal.js";
import { type ChaosJob, type ChaosJobs, hotKeysCount, hotWorkMs, maxAttempts } from "./settings.js";

const openMs = { least: 50, most: 3_000 } as const;
/** So many that the key is still busy with them when the late row appears, and seconds after. */
const burst = 300;

/** Enqueues on a hot key in a transaction that stays open while many more are sent, and commits below those that workers have done since. */
export async function commitLate(
  {
    lh,
    queue,
    journal,
  }: { readonly lh: Leasehold; readonly queue: Queue<ChaosJobs>; readonly journal: Journal },
  dice: Dice,
): Promise<void> {
  const partitionKey = `hot${dice.whole(1, hotKeysCount)}`;
  const payload = (): ChaosJob => ({
    workMs: dice.between(0, hotWorkMs),
    failures: 0,
    effect: dice.pick(["none", "once", "fenced"] as const),
  });
  const id = await lh.transaction(async (tx) => {
    const late = await queue.enqueue("work", payload(), { partitionKey, maxAttempts, tx });
    const jobs = Array.from({ length: burst }, () => ({
      kind: "work" as const,
      payload: payload(),
      partitionKey,
      maxAttempts,
    }));
    for (const one of await queue.enqueueMany(jobs))
      journal.note({ is: "acknowledged", id: one.id, key: partitionKey });
    await sleep(dice.between(openMs.least, openMs.most));
    return late.id;
  });
  journal.note({ is: "acknowledged", id, key: partitionKey });
}
