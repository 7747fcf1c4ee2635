/** What a worker process tells the demo, over the channel between them. */
export type FromWorker = ({ readonly is: "report" } & WorkerReport) | ({ readonly is: "news" } & News);

export interface News {
  readonly tone: "good" | "bad" | "plain";
  readonly words: string;
  /** News of one topic that follow each other are shown as one. */
  readonly topic?: string;
}

/** Where the worker is now, and what was added since its last report. */
export interface WorkerReport {
  readonly state: string;
  readonly generation: number;
  readonly running: number;
  readonly inHand: number;
  readonly done: number;
  readonly retries: number;
  readonly takenOver: number;
  readonly starts: readonly Start[];
}

/** A handler was called for a job of this bucket. */
export interface Start {
  readonly bucket: number;
  readonly key: string;
  readonly atMs: number;
}

/** All that is told to a worker process: finish what runs, give back the rest, leave. */
export const drain = "drain";

export const reportEveryMs = 250;
