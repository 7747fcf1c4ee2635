/** What the parts of a rolling deploy agree on. */
export const queueName = "inbox";
export const schema = "deploy";
export const doneTable = "deploy_done";

export interface DeployTask {
  /** Such as `b old`. */
  readonly name: string;
  readonly role: "worker" | "producer";
  readonly url: string;
  /** The compiled src/index.js of the version that this process runs. */
  readonly library: string;
  readonly jobsPerSecond: number;
}

export interface DeployJobs {
  readonly [kind: string]: { readonly number: number };
  readonly step: { readonly number: number };
}

/** What a process tells its parent. */
export type DeployMessage =
  | { readonly is: "ready"; readonly migrations: number }
  | { readonly is: "refused"; readonly code: string; readonly words: string }
  | { readonly is: "acknowledged"; readonly key: string; readonly number: number };
