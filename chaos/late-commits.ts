import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../simulation/dice.js";
import type { Leasehold, Queue } from "../src/index.js";
import type { Journal } from "./journal.js";
import { type ChaosJobs, hotKeysCount, maxAttempts } from "./settings.js";

const openMs = { least: 50, most: 4_000 } as const;

/** Enqueues on a hot key in a transaction that stays open for a while, and commits below what others have sent and workers have done since. */
export async function commitLate(
  {
    lh,
    queue,
    journal,
  }: { readonly lh: Leasehold; readonly queue: Queue<ChaosJobs>; readonly journal: Journal },
  dice: Dice,
): Promise<void> {
  const partitionKey = `hot${dice.whole(1, hotKeysCount)}`;
  const payload = { workMs: 0, failures: 0, effect: dice.pick(["none", "once", "fenced"] as const) };
  const id = await lh.transaction(async (tx) => {
    const enqueued = await queue.enqueue("work", payload, { partitionKey, maxAttempts, tx });
    await sleep(dice.between(openMs.least, openMs.most));
    return enqueued.id;
  });
  journal.note({ is: "acknowledged", id, key: partitionKey });
}
