import type { Histogram } from "../work/histogram.js";
import { type Definition, definitions, type MetricName } from "./definitions.js";

export type Labels = Readonly<Record<string, string>>;

/** One line of the exposition. `suffix` is `_bucket`, `_sum` or `_count` for parts of a histogram, else empty. */
export interface Sample {
  readonly suffix: "" | "_bucket" | "_sum" | "_count";
  readonly labels: Labels;
  readonly value: number;
}

/** A metric with its samples at one time. */
export interface Family extends Definition {
  readonly name: MetricName;
  readonly samples: readonly Sample[];
}

/** Collects samples by metric; what was given no sample is left out. */
export class Families {
  readonly #samples = new Map<MetricName, Sample[]>();

  add(name: MetricName, value: number, labels: Labels = {}): void {
    this.#of(name).push({ suffix: "", labels, value });
  }

  /** `scale` turns the histogram's unit into that of the metric; `every` leaves out bounds between. */
  addHistogram(
    name: MetricName,
    histogram: Histogram,
    {
      labels = {},
      scale = 1,
      every = 1,
    }: { readonly labels?: Labels; readonly scale?: number; readonly every?: number },
  ): void {
    const samples = this.#of(name);
    let below = 0;
    for (const [at, bound] of histogram.bounds.entries()) {
      below += histogram.counts[at] ?? 0;
      if (at % every !== 0) continue;
      samples.push({ suffix: "_bucket", labels: { ...labels, le: boundText(bound * scale) }, value: below });
    }
    samples.push({ suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: histogram.count });
    samples.push({ suffix: "_sum", labels, value: histogram.sum * scale });
    samples.push({ suffix: "_count", labels, value: histogram.count });
  }

  list(): readonly Family[] {
    const names = Object.keys(definitions) as MetricName[];
    return names.flatMap((name) => {
      const samples = this.#samples.get(name);
      return samples === undefined ? [] : [{ name, ...definitions[name], samples }];
    });
  }

  #of(name: MetricName): Sample[] {
    const samples = this.#samples.get(name) ?? [];
    this.#samples.set(name, samples);
    return samples;
  }
}

/** The same text for a bound at each scrape. */
function boundText(bound: number): string {
  return String(Number(bound.toPrecision(6)));
}
