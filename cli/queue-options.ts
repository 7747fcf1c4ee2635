import type { KindPolicies, QueueOptions } from "../src/index.js";
import type { OptionSpec } from "./command.js";
import { durationMs, jsonObject, wholeNumber } from "./option-values.js";
import { withDefined } from "./with-defined.js";

/** Settings of a queue as options of the command line. */
export type SettingOptions = {
  order?: "key" | "none";
  strict?: true;
  onDeadLetter?: "continue" | "park";
  buckets?: number;
  ring?: "rendezvous" | "consistent";
  vnodes?: number;
  preferRegion?: readonly string[];
  excludeRegion?: readonly string[];
  retention?: number;
  deadLetterRetention?: number;
  dedupeWindow?: number;
  maxAttempts?: number;
  maxCrashes?: number;
  kinds?: Readonly<Record<string, unknown>>;
};

export const changeOptions: readonly OptionSpec[] = [
  { flags: "--max-attempts <number>", about: "attempts that may end with an error (12)", parse: wholeNumber },
  { flags: "--max-crashes <number>", about: "attempts that may end with a crash (5)", parse: wholeNumber },
  {
    flags: "--retention <time>",
    about: "keep finished jobs for so long (7d); 0 keeps none",
    parse: durationMs,
  },
  {
    flags: "--dead-letter-retention <time>",
    about: "then dead letters move to the archive (30d); 0 never",
    parse: durationMs,
  },
  { flags: "--dedupe-window <time>", about: "how long an idempotency key answers (7d)", parse: durationMs },
  { flags: "--kinds <json>", about: `per kind: '{"mail": {"maxAttempts": 3}}'`, parse: jsonObject },
];

export const createOptions: readonly OptionSpec[] = [
  {
    flags: "--order <order>",
    about: "key: one key in order; none: by priority (key)",
    choices: ["key", "none"],
  },
  { flags: "--strict", about: "order of commits, at the price of a lock per key" },
  {
    flags: "--on-dead-letter <act>",
    about: "park: a dead letter holds its key (continue)",
    choices: ["continue", "park"],
  },
  { flags: "--buckets <number>", about: "shares that workers divide (360)", parse: wholeNumber },
  {
    flags: "--ring <ring>",
    about: "how they divide them (rendezvous)",
    choices: ["rendezvous", "consistent"],
  },
  { flags: "--vnodes <number>", about: "points of a worker on a consistent ring (128)", parse: wholeNumber },
  { flags: "--prefer-region <name>", about: "workers there own all, while one lives", isRepeatable: true },
  { flags: "--exclude-region <name>", about: "workers there own nothing", isRepeatable: true },
  ...changeOptions,
];

export function queueOptionsOf(options: SettingOptions): QueueOptions {
  return withDefined({
    order: options.order,
    strict: options.strict,
    onDeadLetter: options.onDeadLetter,
    buckets: options.buckets,
    ring: options.ring,
    vnodes: options.vnodes,
    preferRegions: options.preferRegion,
    excludeRegions: options.excludeRegion,
    retentionMs: options.retention,
    deadLetterRetentionMs: options.deadLetterRetention,
    dedupeWindowMs: options.dedupeWindow,
    maxAttempts: options.maxAttempts,
    maxCrashes: options.maxCrashes,
    kinds: options.kinds as KindPolicies | undefined,
  });
}
