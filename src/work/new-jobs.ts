import { LeaseholdError, PayloadTooLargeError } from "../errors.js";
import { type OptionNames, withKnownNames } from "../option-names.js";
import { asObject, defaults } from "../settings.js";
import type { JobQueue } from "./job-headers.js";
import { enqueueOptionNames, type NewJob, type NewJobInput, newJob } from "./new-job.js";

const jobNames: OptionNames<NewJobInput> = Object.freeze({
  kind: true,
  payload: true,
  ...enqueueOptionNames,
});

/** Checks the jobs of one call, one after the other; an error says which of them it is about. All together are one JSON text, which has a limit. */
export function newJobs(
  inputs: readonly NewJobInput[],
  newId: () => string,
  queue: JobQueue,
): readonly NewJob[] {
  const jobs = Array.from(inputs, (input, index) => {
    try {
      asObject("job", input);
      return newJob(withKnownNames("a job of enqueueMany()", input, jobNames), newId(), queue);
    } catch (error) {
      throw ofJob(error, index);
    }
  });
  const bytes = jobs.reduce((sum, job) => sum + job.json.length, 0);
  if (bytes <= defaults.enqueueManyBytesMax) return jobs;
  // Headers that were added are no reason to refuse what would fit without them.
  if (queue.added !== undefined) return newJobs(inputs, newId, { ...queue, added: undefined });
  throw new PayloadTooLargeError("list of jobs", bytes, defaults.enqueueManyBytesMax);
}

/** The stack repeats the message, and is what most logs print. */
function ofJob(error: unknown, index: number): unknown {
  if (!(error instanceof LeaseholdError)) return error;
  const message = `jobs[${index}]: ${error.message}`;
  const stack = error.stack?.replace(error.message, () => message);
  return Object.assign(error, { message, stack, jobIndex: index });
}
