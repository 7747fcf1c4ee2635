import { InvalidOptionError, NotOwnerError } from "../errors.js";
import { withKnownNames } from "../option-names.js";
import type { Clock } from "../seams/clock.js";
import { asFunction, asObject, defaults, wholeNumber } from "../settings.js";
import { isStorableText } from "../work/json.js";
import { checkedTenant } from "./checked-tenant.js";
import type { Ownership } from "./ownership.js";
import {
  type DispatchOptions,
  dispatchOptionNames,
  type FanOutOptions,
  fanOutOptionNames,
  type TaskResult,
} from "./task-result.js";
import type { TenantTask } from "./tasks.js";

export interface DispatchParts {
  readonly clock: Clock;
  readonly ownership: Ownership;
  /** Throws NotOwnerError where this process does not own the tenant. */
  run<T>(tenant: string, task: TenantTask<T>): Promise<T>;
  /** Null for a tenant that is not hot. */
  hotOwnerOf(tenant: string): { readonly owner: string | null } | null;
}

/** A short task for each tenant of the list that is cold and this process's; all others are passed over. */
export async function dispatchCold<T>(
  parts: DispatchParts,
  tenants: Iterable<string>,
  task: TenantTask<T>,
  given: DispatchOptions = {},
): Promise<readonly TaskResult<T>[]> {
  asFunction("task", task);
  const round = new Round<T>(tenants, withKnownNames("dispatchCold()", given, dispatchOptionNames));
  await round.each(async (tenant) => {
    const hot = parts.hotOwnerOf(tenant);
    return hot === null ? await once(parts, tenant, task) : { tenant, is: "hot", owner: hot.owner };
  });
  return round.results();
}

/** One task for every tenant of the list, hot or cold, each on its owner. */
export async function fanOut<T>(
  parts: DispatchParts,
  tenants: Iterable<string>,
  task: TenantTask<T>,
  given: FanOutOptions = {},
): Promise<readonly TaskResult<T>[]> {
  const { clock, ownership } = parts;
  asFunction("task", task);
  const round = new Round<T>(tenants, withKnownNames("fanOut()", given, fanOutOptionNames));
  const { id } = given;
  if (id !== undefined) checkRunId(id);
  const { fanOutWaitMs: fallback, delayMsMax: max } = defaults;
  const waitMs = wholeNumber("waitMs", given.waitMs, { fallback, min: 0, max });
  const untilMs = clock.monotonicMs() + waitMs;
  for (;;) {
    if (id !== undefined) round.noteDone(await ownership.doneOf(id, round.open()));
    await round.each((tenant) => once(parts, tenant, id === undefined ? task : onceInRun(parts, id, task)));
    const isOver =
      round.open().length === 0 || given.signal?.aborted === true || clock.monotonicMs() >= untilMs;
    if (id === undefined || isOver) return round.results();
    await clock.sleep(defaults.fanOutPollMs, given.signal);
  }
}

const alreadyDone = new Error("Another process has done it in this run.");

/** Looks and notes under the tenant's lease, so that who wins it next knows. */
function onceInRun<T>({ ownership }: DispatchParts, id: string, task: TenantTask<T>): TenantTask<T> {
  return async (tenant, context) => {
    if ((await ownership.doneOf(id, [tenant])).has(tenant)) throw alreadyDone;
    const value = await task(tenant, context);
    await ownership.markDone(id, tenant);
    return value;
  };
}

function checkRunId(id: unknown): void {
  const { keyBytesMax } = defaults;
  if (typeof id !== "string" || id === "" || !isStorableText(id) || Buffer.byteLength(id) > keyBytesMax)
    throw new InvalidOptionError("id", id, `a text of 1 to ${keyBytesMax} bytes that names the run`);
}

async function once<T>(parts: DispatchParts, tenant: string, task: TenantTask<T>): Promise<TaskResult<T>> {
  try {
    return { tenant, is: "done", value: await parts.run(tenant, task) };
  } catch (error) {
    if (error === alreadyDone) return { tenant, is: "done-elsewhere" };
    if (error instanceof NotOwnerError && error.tenant === tenant)
      return { tenant, is: "elsewhere", owner: error.owner };
    return { tenant, is: "failed", error };
  }
}

/** The tenants of one call, and what has become of each. Those that are elsewhere stay open. */
class Round<T> {
  readonly #options: DispatchOptions;
  readonly #concurrency: number;
  readonly #results = new Map<string, TaskResult<T> | null>();

  constructor(tenants: Iterable<string>, given: DispatchOptions) {
    this.#options = asObject("options", given);
    const { taskConcurrency: fallback, taskConcurrencyMax: max } = defaults;
    this.#concurrency = wholeNumber("concurrency", given.concurrency, { fallback, min: 1, max });
    if (typeof tenants !== "object" || typeof tenants?.[Symbol.iterator] !== "function")
      throw new InvalidOptionError("tenants", tenants, "a list of tenants");
    for (const tenant of tenants) this.#results.set(checkedTenant(tenant), null);
  }

  open(): readonly string[] {
    return [...this.#results].flatMap(([tenant, result]) =>
      result === null || result.is === "elsewhere" ? [tenant] : [],
    );
  }

  noteDone(tenants: ReadonlySet<string>): void {
    for (const tenant of tenants) this.#results.set(tenant, { tenant, is: "done-elsewhere" });
    if (tenants.size > 0) this.#tell();
  }

  /** Does it for every open tenant, a few at a time. */
  async each(work: (tenant: string) => Promise<TaskResult<T>>): Promise<void> {
    const queue = this.open()[Symbol.iterator]();
    const lane = async (): Promise<void> => {
      for (const tenant of queue) {
        if (this.#options.signal?.aborted === true) return;
        this.#results.set(tenant, await work(tenant));
        this.#tell();
      }
    };
    await Promise.all(Array.from({ length: this.#concurrency }, lane));
  }

  results(): readonly TaskResult<T>[] {
    return [...this.#results].map(([tenant, result]) => result ?? { tenant, is: "elsewhere", owner: null });
  }

  #tell(): void {
    const { onProgress } = this.#options;
    if (onProgress === undefined) return;
    const count = (...kinds: readonly TaskResult<T>["is"][]): number =>
      [...this.#results.values()].filter((result) => result !== null && kinds.includes(result.is)).length;
    const progress = {
      total: this.#results.size,
      done: count("done", "done-elsewhere"),
      failed: count("failed"),
      elsewhere: count("elsewhere", "hot"),
    };
    try {
      onProgress(progress);
    } catch {
      // Whoever watches is broken; the tasks are not.
    }
  }
}
