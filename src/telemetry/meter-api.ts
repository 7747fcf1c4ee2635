/** What we use of the meters of @opentelemetry/api, by its shape. */
export interface MeterProvider {
  getMeter(name: string, version?: string): Meter;
}

export interface Meter {
  createCounter(name: string, options?: InstrumentDescription): Counter;
  createHistogram(name: string, options?: InstrumentDescription): HistogramInstrument;
  createObservableCounter(name: string, options?: InstrumentDescription): Observable;
  createObservableGauge(name: string, options?: InstrumentDescription): Observable;
  addBatchObservableCallback(callback: ObserveAll, observables: Observable[]): void;
  removeBatchObservableCallback(callback: ObserveAll, observables: Observable[]): void;
}

interface InstrumentDescription {
  readonly description?: string;
  readonly unit?: string;
  readonly advice?: { readonly explicitBucketBoundaries?: number[] };
}

type ObserveAll = (result: BatchResult) => Promise<void>;

export interface BatchResult {
  observe(observable: Observable, value: number, attributes?: Attributes): void;
}

/** Told apart by identity; nothing is called on it. */
export interface Observable {
  addCallback(callback: never): void;
}

export type Attributes = Readonly<Record<string, string>>;

interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface HistogramInstrument {
  record(value: number, attributes?: Attributes): void;
}
