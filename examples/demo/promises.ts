import type { Leasehold, Queue, Tx } from "../../src/index.js";
import type { ShopJobs } from "./shop.js";

/** What was found, since the start. All but the first should stay 0. */
export interface Promises {
  readonly checked: number;
  readonly orderBreaks: number;
  readonly doubled: number;
  readonly lost: number;
}

const suspectsPerLook = 20;
const suspectAfterMs = 15_000;
const suspectPagesMax = 100;

/**
 * Every receipt is looked at once, against all of its key that were written before it, or were seen before it. Jobs that have their receipt are
 * ticked off. (`e.is_checked` is as it was before this look.)
 */
const checkReceipts = `
  with fresh as (
    update leasehold_shop.receipts set is_checked = true where not is_checked returning number, job, key, step
  ), ticked_off as (
    delete from leasehold_shop.made m using fresh f where m.id = f.job
  )
  select count(*)::int as checked,
    count(*) filter (where exists (select from leasehold_shop.receipts e
      where e.key = f.key and e.step = f.step and (e.number < f.number or e.is_checked)))::int as doubled,
    count(*) filter (where exists (select from leasehold_shop.receipts e
      where e.key = f.key and e.step > f.step and (e.number < f.number or e.is_checked)))::int as order_breaks
  from fresh f`;

const listSuspects = `
  select id from leasehold_shop.made
  where id > $1::uuid and made_at <= clock_timestamp() - $2::float8 * interval '1 ms'
  order by id limit $3`;

const forgetAccounted = "delete from leasehold_shop.made where id = any($1::uuid[])";

const listUnwritten = `
  select m.id from leasehold_shop.made m
  where m.id = any($1::uuid[]) and not exists (
    select from leasehold_shop.receipts r where r.key = m.key and r.step = m.step)`;

const firstId = "00000000-0000-0000-0000-000000000000";

/** Looks for broken promises in what was really written. */
export class PromiseCheck {
  readonly #lh: Leasehold;
  readonly #queue: Queue<ShopJobs>;
  readonly #lost = new Set<string>();
  #checked = 0;
  #doubled = 0;
  #orderBreaks = 0;
  #suspectsAfter = firstId;

  constructor(lh: Leasehold, queue: Queue<ShopJobs>) {
    this.#lh = lh;
    this.#queue = queue;
  }

  get found(): Promises {
    const { size } = this.#lost;
    return { checked: this.#checked, orderBreaks: this.#orderBreaks, doubled: this.#doubled, lost: size };
  }

  async look(): Promise<void> {
    await this.#lookAtReceipts();
    await this.#lookAtSuspects(suspectAfterMs);
  }

  /** Looks at everything that has no receipt, when nobody works any more. */
  async lookAtAll(): Promise<void> {
    await this.#lookAtReceipts();
    this.#suspectsAfter = firstId;
    for (let page = 0; page < suspectPagesMax; page++) {
      await this.#lookAtSuspects(0);
      if (this.#suspectsAfter === firstId) return;
    }
  }

  async #lookAtReceipts(): Promise<void> {
    const [row] = await this.#ask<{ checked: number; doubled: number; order_breaks: number }>(
      checkReceipts,
      [],
    );
    this.#checked += row?.checked ?? 0;
    this.#doubled += row?.doubled ?? 0;
    this.#orderBreaks += row?.order_breaks ?? 0;
  }

  /** Asks Leasehold about jobs that should be done by now: each is waiting, running or dead, or else it is lost. */
  async #lookAtSuspects(afterMs: number): Promise<void> {
    const suspects = await this.#ask<{ id: string }>(listSuspects, [
      this.#suspectsAfter,
      afterMs,
      suspectsPerLook,
    ]);
    this.#suspectsAfter = suspects.length < suspectsPerLook ? firstId : (suspects.at(-1)?.id ?? firstId);
    const dead: string[] = [];
    const completed: string[] = [];
    for (const { id } of suspects) {
      const job = await this.#queue.get(id);
      if (job === null) this.#lost.add(id);
      else if (job.status === "completed") completed.push(id);
      else if (job.status === "dead_letter" || job.status === "discarded") dead.push(id);
    }
    if (dead.length > 0) await this.#ask(forgetAccounted, [dead]);
    if (completed.length === 0) return;
    for (const { id } of await this.#ask<{ id: string }>(listUnwritten, [completed])) this.#lost.add(id);
  }

  async #ask<R>(text: string, values: unknown[]): Promise<readonly R[]> {
    const { rows } = await this.#lh.transaction((tx: Tx) => tx.query(text, values));
    return rows as readonly R[];
  }
}
