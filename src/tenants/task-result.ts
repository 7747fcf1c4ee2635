import type { OptionNames } from "../option-names.js";

/** What became of one tenant's task. */
export type TaskResult<T> =
  /** Done by this call, on this process. */
  | { readonly tenant: string; readonly is: "done"; readonly value: T }
  | { readonly tenant: string; readonly is: "failed"; readonly error: unknown }
  /** Another process of the fleet has done it, in the run of this id. */
  | { readonly tenant: string; readonly is: "done-elsewhere" }
  /** Another process owns the tenant; null when nobody does for now. */
  | { readonly tenant: string; readonly is: "elsewhere"; readonly owner: string | null }
  /** The tenant is hot: what runs for it takes care of it. Only of the cold dispatcher. */
  | { readonly tenant: string; readonly is: "hot"; readonly owner: string | null };

export interface DispatchProgress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly elsewhere: number;
}

export interface DispatchOptions {
  /** Tasks at a time. */
  readonly concurrency?: number | undefined;
  /** Ends early: no further task is started, and what is left is reported as elsewhere. */
  readonly signal?: AbortSignal | undefined;
  onProgress?(progress: DispatchProgress): void;
}

export interface FanOutOptions extends DispatchOptions {
  /**
   * Names the run. Called on every process with one id, each tenant's task is done once in the whole fleet, by whoever owns it when its turn comes, and every call
   * resolves when all are done.
   */
  readonly id?: string | undefined;
  /** With an id: how long to wait for what other processes do. */
  readonly waitMs?: number | undefined;
}

export const dispatchOptionNames: OptionNames<DispatchOptions> = Object.freeze({
  concurrency: true,
  signal: true,
  onProgress: true,
});
export const fanOutOptionNames: OptionNames<FanOutOptions> = Object.freeze({
  ...dispatchOptionNames,
  id: true,
  waitMs: true,
});
