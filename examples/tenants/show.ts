import { setTimeout as sleep } from "node:timers/promises";
import type { Leasehold } from "../../src/index.js";
import type { Fleet } from "./fleet.js";
import { nowMs } from "./messages.js";
import { type Spread, spreadOf } from "./spread.js";
import type { Witness } from "./witness.js";

export type StepName = "start" | "add" | "stop" | "kill" | "evict" | "return";

/** What one step did to the tenants. */
export interface Step {
  readonly step: StepName;
  readonly worker: string | null;
  /** Tenants that run on another worker than before. */
  readonly moved: number;
  /** From the act until the last tenant began. */
  readonly tookMs: number;
  /** The longest that one tenant ran nowhere. */
  readonly pausedMs: number;
  readonly workers: number;
  readonly spread: Spread;
}

export interface ShowParts {
  readonly lh: Leasehold;
  readonly fleet: Fleet;
  readonly witness: Witness;
  readonly tenants: number;
  readonly signal: AbortSignal;
}

const lookEveryMs = 20;
const stepLimitMs = 120_000;
const quietMs = 750;

/** The steps of the example, one after another; each begins when the one before has come to rest. */
export class Show {
  readonly #parts: ShowParts;

  constructor(parts: ShowParts) {
    this.#parts = parts;
  }

  async *steps(workers: number): AsyncGenerator<Step> {
    const { fleet, lh } = this.#parts;
    yield await this.#step("start", null, {
      act: () => {
        for (let n = 0; n < workers; n++) fleet.add();
      },
      isDone: () => this.#spread().isEven,
    });
    const added = `worker-${workers + 1}`;
    yield await this.#step("add", added, {
      act: () => void fleet.add(),
      isDone: () => this.#spread().isEven,
    });
    const [stopped = ""] = fleet.ids;
    yield await this.#step(
      "stop",
      stopped,
      this.#loss(stopped, () => fleet.stop(stopped)),
    );
    const killed = this.#fullest();
    yield await this.#step(
      "kill",
      killed,
      this.#loss(killed, () => fleet.kill(killed)),
    );
    const evicted = this.#fullest();
    const evict = async (): Promise<void> => {
      const sql = "delete from leasehold.worker_lease where worker_id = $1";
      await lh.transaction(async (tx) => await tx.query(sql, [evicted]));
    };
    const others = fleet.ids.filter((id) => id !== evicted);
    yield {
      ...(await this.#step("evict", evicted, this.#loss(evicted, evict))),
      spread: spreadOf(this.#parts.witness.owners, others),
    };
    yield await this.#step("return", evicted, { act: () => {}, isDone: () => this.#spread().isEven });
  }

  /** Done when all that ran there has begun elsewhere. */
  #loss(
    worker: string,
    act: () => Promise<void>,
  ): { act(): Promise<void>; isDone(sinceMs: number): boolean } {
    const { witness } = this.#parts;
    const had = [...witness.owners].flatMap(([tenant, owner]) => (owner === worker ? [tenant] : []));
    return { act, isDone: (sinceMs) => had.every((tenant) => witness.beganAtMs(tenant) >= sinceMs) };
  }

  async #step(
    step: StepName,
    worker: string | null,
    part: { act(): Promise<void> | void; isDone(sinceMs: number): boolean },
  ): Promise<Step> {
    const { fleet, witness, signal, tenants } = this.#parts;
    const before = witness.owners;
    const fromMs = nowMs();
    await part.act();
    const isDone = (): boolean =>
      witness.owners.size === tenants && part.isDone(fromMs) && nowMs() - witness.changedAtMs >= quietMs;
    while (!isDone()) {
      if (nowMs() - fromMs > stepLimitMs) throw new Error(`"${step}" was not over after ${stepLimitMs} ms.`);
      await sleep(lookEveryMs, undefined, { signal });
    }
    const after = witness.owners;
    const moved = [...after].filter(([tenant, owner]) => before.get(tenant) !== owner).length;
    return {
      step,
      worker,
      moved,
      tookMs: Math.max(0, witness.lastBeganMs() - fromMs),
      pausedMs: witness.longestPauseMs(fromMs),
      workers: fleet.ids.length,
      spread: this.#spread(),
    };
  }

  #spread(): Spread {
    const { fleet, witness } = this.#parts;
    return spreadOf(witness.owners, fleet.ids);
  }

  #fullest(): string {
    const counts = Object.entries(this.#spread().perWorker);
    return counts.sort(([, one], [, other]) => other - one)[0]?.[0] ?? "";
  }
}
