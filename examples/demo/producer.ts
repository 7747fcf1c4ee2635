import { setTimeout as sleep } from "node:timers/promises";
import type { JobInput, Leasehold, Queue } from "../../src/index.js";
import { hotKey, type Luck, type ShopJobs, type Work } from "./shop.js";
import { nextOrderNumber, writeMade } from "./tables.js";

const ordersPerSecond = 42;
/** The rate swings by this much up and down, once a minute, as the day of a shop does. */
const swing = 12;
const secondsPerSwing = 60;
const shareOfHotTenant = 0.2;
const shareOfRefunds = 0.2;
const shareOfImpatient = 0.05;
const afterTroubleMs = 500;

/** Makes orders until it is stopped, one after the other: order and jobs in one commit. */
export class Producer {
  readonly #lh: Leasehold;
  readonly #queue: Queue<ShopJobs>;
  readonly #onTrouble: (error: unknown) => void;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(lh: Leasehold, queue: Queue<ShopJobs>, onTrouble: (error: unknown) => void) {
    this.#lh = lh;
    this.#queue = queue;
    this.#onTrouble = onTrouble;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const startedAtMs = Date.now();
    let dueAtMs = startedAtMs;
    while (!this.#isStopped) {
      const seconds = (dueAtMs - startedAtMs) / 1_000;
      const rate = ordersPerSecond + swing * Math.sin((2 * Math.PI * seconds) / secondsPerSwing);
      dueAtMs = Math.max(dueAtMs + 1_000 / rate, Date.now() - afterTroubleMs);
      if (dueAtMs > Date.now()) await sleep(dueAtMs - Date.now());
      try {
        await this.#makeOrder();
      } catch (error) {
        this.#onTrouble(error);
        await sleep(afterTroubleMs);
      }
    }
  }

  async #makeOrder(): Promise<void> {
    await this.#lh.transaction(async (tx) => {
      const jobs = jobsOf(await nextOrderNumber(tx));
      const answers = await this.#queue.enqueueMany(jobs, { tx });
      const made = jobs.flatMap(({ partitionKey: key = "", payload: { step } }, i) => {
        const answer = answers[i];
        return answer === undefined || answer.duplicate ? [] : [{ id: answer.id, key, step }];
      });
      await writeMade(tx, made);
    });
  }
}

/** A receipt, a refund now and then, and a follow-up some seconds later, which run in that order. The hot tenant gets no follow-ups. */
function jobsOf(order: number): JobInput<ShopJobs>[] {
  const isHot = Math.random() < shareOfHotTenant;
  const partitionKey = isHot ? hotKey : `order:${order}`;
  const receipt: JobInput<ShopJobs> = {
    kind: "receipt.send",
    payload: work(order, 1, isHot),
    partitionKey,
    idempotencyKey: `receipt:${order}`,
  };
  const jobs: JobInput<ShopJobs>[] = [receipt];
  // Some press the button twice: the idempotency key answers, and there is one receipt all the same.
  if (Math.random() < shareOfImpatient) jobs.push(receipt);
  if (Math.random() < shareOfRefunds) {
    jobs.push({ kind: "refund.pay", payload: work(order, 2, isHot), partitionKey });
  }
  if (!isHot) {
    const delayMs = Math.round(between(2_000, 8_000));
    jobs.push({ kind: "follow-up.send", payload: work(order, 3, isHot), partitionKey, delayMs });
  }
  return jobs;
}

function work(order: number, place: number, isHot: boolean): Work {
  const luck = isHot ? "well" : drawLuck();
  const [fromMs, toMs] = luck === "slow" ? [300, 1_500] : [4, isHot ? 12 : 40];
  return { order, step: 10 * order + place, luck, takesMs: Math.round(between(fromMs, toMs)) };
}

function drawLuck(): Luck {
  const draw = Math.random();
  if (draw < 0.0015) return "poison";
  if (draw < 0.04) return "flaky";
  return draw < 0.06 ? "slow" : "well";
}

function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
