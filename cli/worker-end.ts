import type { Leasehold } from "../src/index.js";
import { exitCodes } from "./exit-codes.js";
import { CliError } from "./failure.js";

/** Listens for what ends workers beside a drain that somebody asked for. The function that it returns throws when there was any of it. */
export function watchEnds(lh: Pick<Leasehold, "on">): () => void {
  /** What happened, with what to do about it; the first is what the others follow from. */
  const ends = new Map<string, string>();
  lh.on("worker:superseded", ({ workerId }) =>
    ends.set(
      `Another process runs as ${workerId} and has taken its place.`,
      "Give each process an id of its own, with --id or WORKER_ID.",
    ),
  );
  lh.on("queue:dropped", ({ queue }) =>
    ends.set(`The queue ${queue} was dropped.`, "See what there is: leasehold queues"),
  );
  lh.on("library:outdated", ({ error }) =>
    ends.set(error, "Install the version of leasehold that migrated the schema, or a later one."),
  );
  lh.on("worker:stopped", ({ workerId, queue, isClean }) => {
    if (isClean) return;
    ends.set(
      `${workerId} has left ${queue} before every job was settled or handed back.`,
      "Other workers take them over when their leases run out. If it happens often, raise drainLimitMs.",
    );
  });
  return () => {
    const [advice] = ends.values();
    if (advice === undefined) return;
    const message = `The worker has stopped. ${[...ends.keys()].join(" ")}`;
    throw new CliError("CLI_WORKER_STOPPED", exitCodes.failed, { message, advice });
  };
}
