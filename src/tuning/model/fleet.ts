import { mix32 } from "../../membership/hash.js";
import { buildRing } from "../../membership/ring.js";
import { defaults } from "../../settings.js";
import { failoverOf } from "../choose.js";
import { costs } from "../costs.js";
import { type Facts, hasSession } from "../facts.js";
import { jobDatabaseUs, jobNodeUs } from "../job-cost.js";
import type { TuningSettings } from "../tuning-settings.js";
import { Dice } from "./dice.js";
import { ModelDatabase } from "./model-database.js";
import { ModelWorker } from "./model-worker.js";
import type { Timeline } from "./timeline.js";

/** The workers, the database they share, and which of them owns which line. */
export class Fleet {
  readonly database: ModelDatabase;
  readonly workers: readonly ModelWorker[];
  readonly #timeline: Timeline;
  readonly #settings: TuningSettings;
  readonly #crashMs: number;
  readonly #ids: readonly string[];
  #owners: readonly number[];

  constructor(
    timeline: Timeline,
    facts: Facts,
    how: { readonly settings: TuningSettings; readonly seed: number; started(job: number): number },
  ) {
    const { cluster, workload, times } = facts;
    const { settings, seed, started } = how;
    this.#timeline = timeline;
    this.#settings = settings;
    this.#crashMs = failoverOf(facts, settings).crashMs;
    this.database = new ModelDatabase(timeline, new Dice(seed + 1), cluster);
    this.#ids = Array.from({ length: settings.workers }, (_, n) => `worker-${n}`);
    this.#owners = this.#ring(this.#ids);
    const { order } = workload;
    const afterEnqueueUs = jobDatabaseUs(workload, settings.retentionMs > 0) - costs.enqueueUs[order];
    this.workers = this.#ids.map(
      (_, n) =>
        new ModelWorker({
          timeline,
          database: this.database,
          dice: new Dice(seed + 100 + n),
          settings,
          order,
          claimRowMs: (afterEnqueueUs * costs.claimShare) / 1_000,
          settleRowMs: (afterEnqueueUs * (1 - costs.claimShare)) / 1_000,
          nodeMs: jobNodeUs(workload) / 1_000,
          meanMs: Math.max(times.meanMs, 0.05),
          hasSession: hasSession(cluster),
          buckets: this.#owners.filter((owner) => owner === n).length,
          started,
        }),
    );
  }

  ownerOf(line: number): ModelWorker | undefined {
    return this.workers[this.#owners[mix32(line + 1) % this.#settings.buckets] ?? -1];
  }

  /** The first worker is gone. When that is noticed, its buckets and rows go to the others. */
  crashFirst(): void {
    const [lost] = this.workers;
    if (lost === undefined) return;
    const held = lost.crash();
    this.#timeline.at(this.#timeline.nowMs + this.#crashMs, () => {
      if (this.workers.length === 1) return;
      this.#owners = this.#ring(this.#ids.slice(1)).map((owner) => owner + 1);
      for (const [line, job] of lost.backlog.empty()) this.ownerOf(line)?.backlog.add(line, job);
      for (const [line, jobs] of held) this.ownerOf(line)?.backlog.giveBack(line, jobs);
      for (const worker of this.workers) worker.look();
    });
  }

  /** By the library's own ring: the number of each bucket's owner. */
  #ring(ids: readonly string[]): readonly number[] {
    const members = ids.map((id) => ({ id, region: null }));
    const none = { preferRegions: [], excludeRegions: [] };
    const settings = { ring: defaults.ring, hash: defaults.ringHash, vnodes: this.#settings.vnodes, ...none };
    const numbers = new Map(ids.map((id, n) => [id, n]));
    const { owners } = buildRing(members, this.#settings.buckets, settings);
    return owners.map((owner) => numbers.get(owner ?? "") ?? 0);
  }
}
