import type { KeyOwner, Leasehold, Ring, RingPreview } from "../../src/index.js";
import { type CommandSpec, defineCommand } from "../command.js";
import { usageError } from "../failure.js";
import { ago, counted } from "../figures.js";
import { memberLetters, ringLegend, ringRows } from "../ring-drawing.js";
import { pairs } from "../table.js";
import type { Screen, View } from "../view.js";
import { withDefined } from "../with-defined.js";

type Options = { key?: string; add?: readonly string[]; remove?: readonly string[] };

export const command: CommandSpec = defineCommand<Options>({
  name: "ring",
  summary: "who owns a key or a bucket, and what would move",
  about:
    "Draws who owns which bucket of a queue. --key answers which worker runs the jobs of a key. --add and --remove show what would move, and change nothing.",
  arguments: [{ name: "<queue>", about: "name of the queue" }],
  options: [
    { flags: "--key <key>", about: "who owns this partition key, and who would be next" },
    { flags: "--add <worker>", about: "as if this worker came too", isRepeatable: true },
    { flags: "--remove <worker>", about: "as if this worker left", isRepeatable: true },
  ],
  examples: [
    "leasehold ring inbox",
    "leasehold ring inbox --key order:9182",
    "leasehold ring inbox --add web-4 --remove web-1",
  ],
  isWatchable: true,
  async run(context, { args: [queue = ""], options: { key, add, remove } }) {
    const isPreview = add !== undefined || remove !== undefined;
    if (key !== undefined && isPreview)
      throw usageError("--key answers for the ring as it is.", "Leave out --add and --remove.");
    const lh = await context.connect();
    if (key !== undefined) return ownerView(await (await lh.queue(queue)).ownerOf(key));
    if (isPreview) return previewView(queue, await lh.previewRing(queue, withDefined({ add, remove })));
    return await ringView(lh, queue);
  },
});

function ownerView(found: KeyOwner): View {
  const { key, bucket, position, owner, since, next } = found;
  return {
    data: found,
    lines: (screen) => {
      const sinceWords = since === null ? "" : `, since ${since.toISOString()} (${ago(since, screen.now)})`;
      return pairs(screen, [
        ["key", key],
        ["bucket", `${bucket}, at ${(100 * position).toFixed(1)} % of the ring`],
        ["owner", owner === null ? "nobody: no live worker may own it" : `${owner}${sinceWords}`],
        ["next", next ?? "nobody: there is no other live worker"],
      ]);
    },
  };
}

async function ringView(lh: Leasehold, queue: string): Promise<View> {
  const ring = await lh.ring(queue);
  return {
    data: { queue, members: loads(ring), owners: ring.owners },
    lines: (screen) => {
      const head = `${queue}: ${counted(ring.owners.length, "bucket")}, ${counted(ring.members.length, "worker")}`;
      if (ring.members.length === 0)
        return [head, "Nobody owns them. Start a worker: leasehold worker worker.mjs"];
      const letters = memberLetters(ring.members);
      const tint = (owner: string | null, text: string): string => tinted(screen, ring, owner, text);
      return [
        screen.paint.bold(head),
        "",
        ...ringRows(screen, ring.owners, { letters, tint }),
        "",
        ...ringLegend(screen, [...loads(ring), ...unowned(ring)], { letters, tint }),
      ];
    },
  };
}

function loads({ members, owners }: Ring): readonly { readonly worker: string; readonly buckets: number }[] {
  return members.map((worker) => ({ worker, buckets: owners.filter((owner) => owner === worker).length }));
}

function unowned({ owners }: Ring): readonly { readonly worker: null; readonly buckets: number }[] {
  const buckets = owners.filter((owner) => owner === null).length;
  return buckets === 0 ? [] : [{ worker: null, buckets }];
}

function tinted({ paint }: Screen, { members }: Ring, owner: string | null, text: string): string {
  return owner === null ? paint.bad(text) : paint.member(members.indexOf(owner), text);
}

function previewView(queue: string, { before, after, moved }: RingPreview): View {
  const ids = [...new Set([...before.members, ...after.members])].sort();
  const workers = ids.map((worker) => ({
    worker,
    before: before.owners.filter((owner) => owner === worker).length,
    after: after.owners.filter((owner) => owner === worker).length,
  }));
  return {
    data: { queue, moved, workers },
    lines: (screen) => {
      const total = before.owners.length;
      const share = total === 0 ? 0 : (100 * moved.length) / total;
      const letters = memberLetters(ids);
      const to = new Map(moved.map((one) => [one.bucket, one.to]));
      const shown = after.owners.map((owner, bucket) => (to.has(bucket) ? owner : undefined));
      const both = { members: ids, owners: after.owners };
      const tint = (owner: string | null, text: string): string => tinted(screen, both, owner, text);
      return [
        screen.paint.bold(
          `${counted(moved.length, "bucket")} of ${total} would move (${share.toFixed(1)} %)`,
        ),
        "",
        ...ringRows(screen, shown, { letters, tint }),
        "",
        ...ringLegend(
          screen,
          [
            ...workers.map(({ worker, before: had, after: buckets }) => ({ worker, buckets, had })),
            ...unownedInPreview(before, after),
          ],
          { letters, tint },
        ),
        "",
        "A letter is a bucket that moves, and to whom; a dot stays where it is.",
      ];
    },
  };
}

function unownedInPreview(
  before: Ring,
  after: Ring,
): readonly { readonly worker: null; readonly buckets: number; readonly had: number }[] {
  const [had, buckets] = [before, after].map((ring) => unowned(ring)[0]?.buckets ?? 0);
  return had === 0 && buckets === 0 ? [] : [{ worker: null, buckets: buckets ?? 0, had: had ?? 0 }];
}
