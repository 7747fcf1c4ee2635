import type { Leasehold, Queue } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { counted } from "../figures.js";
import { queueArgument } from "../job-options.js";
import { isUnknownQueue } from "../unless-dropped.js";

export const pauseCommand: CommandSpec = defineCommand({
  name: "pause",
  summary: "claim nothing more until resume",
  about: "Nothing is claimed until the queue is resumed. What runs goes on, and enqueue works.",
  arguments: [queueArgument],
  examples: ["leasehold queues pause inbox"],
  async run(context, { args: [name = ""] }) {
    const lh = await context.connect();
    await (await lh.queue(name)).pause();
    return {
      data: { queue: name, paused: true },
      lines: () => [`${name} is paused. Go on with: leasehold queues resume ${name}`],
    };
  },
});

export const resumeCommand: CommandSpec = defineCommand({
  name: "resume",
  summary: "claim again",
  arguments: [queueArgument],
  examples: ["leasehold queues resume inbox"],
  async run(context, { args: [name = ""] }) {
    const lh = await context.connect();
    await (await lh.queue(name)).resume();
    return { data: { queue: name, paused: false }, lines: () => [`${name} works again.`] };
  },
});

export const dropCommand: CommandSpec = defineCommand<{ yes?: true; force?: true }>({
  name: "drop",
  summary: "drop a queue with its archive",
  about:
    "Drops a queue with its jobs, archive and functions. Refused while it has jobs or live workers (exit 4), unless --force is given. Ends a drop that was interrupted.",
  arguments: [queueArgument],
  options: [{ flags: "--force", about: "drop it with the jobs in it" }],
  examples: ["leasehold queues drop mail", "leasehold queues drop mail --force --yes"],
  asks: true,
  async run(context, { args: [name = ""], options }) {
    const lh = await context.connect();
    const jobs = await lh
      .queue(name)
      .then(jobsIn)
      .catch(async (error: unknown) => {
        if (isUnknownQueue(error) && (await isBeingDropped(lh, name))) return null;
        throw error;
      });
    // A drop that was interrupted has hidden its queue from everything but another drop.
    const what =
      jobs === null
        ? `There is no queue ${name} that can be opened. This ends a drop of it that was interrupted.`
        : `This drops the queue ${name} with ${counted(jobs, "job")} and its archive.`;
    await context.confirm(what, options.yes);
    await lh.dropQueue(name, { force: options.force === true });
    return {
      data: { queue: name, dropped: true, jobs },
      lines: () => [`Dropped ${name}${jobs === null ? "" : ` with ${counted(jobs, "job")}`}.`],
    };
  },
});

async function jobsIn(queue: Queue): Promise<number> {
  const { scheduled, pending, processing, deadLetter } = await queue.stats({ exact: false });
  return scheduled + pending + processing + deadLetter;
}

/** Whether a drop of it was begun. Only a drop sees that row. */
async function isBeingDropped(lh: Leasehold, name: string): Promise<boolean> {
  const text = `select 1 from ${lh.schema}.queues where name = $1 and dropped_at is not null`;
  return (await lh.transaction((tx) => tx.query(text, [name]))).rows.length > 0;
}
