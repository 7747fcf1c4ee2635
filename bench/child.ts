/**
 * The program of the child processes. It opens one system, then does what the parent asks for, one message each way, and ends when the
 * parent does.
 */
import type { Acts, Context } from "./acts/act.js";
import { fill, produce } from "./acts/bulk.js";
import { countUnfinished, untilEmpty } from "./acts/count.js";
import { enqueueFor } from "./acts/enqueue-for.js";
import { latency } from "./acts/latency.js";
import { claims, crowd } from "./acts/leasehold-only.js";
import { work, workLog } from "./acts/work.js";
import type { FromChild, FromParent } from "./message.js";
import { systemNamed } from "./systems/every-system.js";

const acts: Acts = {
  setup: async ({ system }) => {
    await system.setup();
    return null;
  },
  fill,
  enqueueFor,
  produce,
  work,
  workLog,
  latency,
  countUnfinished,
  untilEmpty,
  claims,
  crowd,
};

const heard = { handled: 0 };
let context: Context | null = null;

function tell(message: FromChild): void {
  // The parent may have gone; then this process ends, too.
  process.send?.(message, undefined, undefined, () => {});
}

async function answer(message: FromParent): Promise<void> {
  if (message.is === "heard") {
    heard.handled = message.handled;
    return;
  }
  try {
    tell({ is: "done", id: message.id, output: await obey(message) });
  } catch (error) {
    tell({
      is: "failed",
      id: message.id,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
}

async function obey(message: Exclude<FromParent, { is: "heard" }>): Promise<unknown> {
  if (message.is === "open") {
    const { system, url, variant } = message;
    const report = (handled: number): void => tell({ is: "progress", handled });
    context = { system: await systemNamed(system).open(url, variant), url, variant, report, heard };
    return null;
  }
  if (context === null) throw new Error("No system is open.");
  const act = acts[message.act] as (where: Context, input: unknown) => Promise<unknown>;
  return await act(context, message.input);
}

process.on("message", (message) => void answer(message as FromParent));
process.on("disconnect", () => process.exit());
// Ctrl-C reaches the whole group of processes; the parent ends this one in its turn.
process.on("SIGINT", () => {});
