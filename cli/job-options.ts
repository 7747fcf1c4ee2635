import type { JobStatus } from "../src/index.js";
import type { ArgumentSpec, OptionSpec } from "./command.js";
import { wholeNumber } from "./option-values.js";

export const queueArgument: ArgumentSpec = { name: "<queue>", about: "name of the queue" };
export const idArgument: ArgumentSpec = { name: "<id>", about: "id of the job" };

const statuses: readonly JobStatus[] = [
  "scheduled",
  "pending",
  "processing",
  "dead_letter",
  "completed",
  "discarded",
];

export const statusOption: OptionSpec = {
  flags: "--status <status>",
  about: "where they are in their life",
  choices: statuses,
};
export const kindOption: OptionSpec = { flags: "--kind <kind>", about: "only this kind" };
export const keyOption: OptionSpec = { flags: "--key <key>", about: "only this partition key" };
export const limitOption: OptionSpec = {
  flags: "--limit <rows>",
  about: "how many at most",
  parse: wholeNumber,
};
