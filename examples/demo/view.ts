import type { Snapshot } from "./figures.js";
import type { Entry } from "./journal.js";
import type { MemberState } from "./member.js";
import { count, duration } from "./numbers.js";
import { bar, line, type Piece, type Style, sparkline } from "./paint.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
  readonly hasColours: boolean;
}

type Row = readonly Piece[];

const eventsMin = 3;
const eventsMax = 12;
const columnsMax = 120;
const empty: Row = [];

/** One frame of the live view, top to bottom. A pure function of the figures and the size of the window; never more lines than fit. */
export function view(snapshot: Snapshot, size: Size): readonly string[] {
  const { rows, hasColours } = size;
  const columns = Math.min(columnsMax, size.columns);
  const above = [
    ...title(snapshot, columns),
    empty,
    ...workers(snapshot, columns),
    empty,
    ...queue(snapshot, columns),
    empty,
    promises(snapshot),
    empty,
    [[" EVENTS", "label"]] satisfies Row,
  ];
  const room = Math.min(eventsMax, Math.max(eventsMin, rows - above.length - 1));
  const body = [...above, ...events(snapshot, room)].slice(0, rows - 1);
  const gap = Array.from({ length: rows - 1 - body.length }, () => empty);
  return [...body, ...gap, footer(snapshot)].map((row) => line(row, columns, hasColours));
}

function title({ server, elapsedMs, mode }: Snapshot, columns: number): readonly Row[] {
  const left = " Leasehold  ";
  const [words, style] = modeWords[mode];
  const right = `${server} · ${clock(elapsedMs)} `;
  const gap = columns - left.length - words.length - right.length;
  return [
    [[left, "title"], [words, style], [" ".repeat(Math.max(2, gap))], [right, "label"]],
    [[" An order is a key: its receipt, refund and follow-up run once and in order."]],
  ];
}

const modeWords: Readonly<Record<Snapshot["mode"], readonly [string, Style]>> = {
  working: ["working", "good"],
  paused: ["paused: nothing is claimed", "warn"],
  stopping: ["stopping: the workers drain", "warn"],
};

const stateStyle: Readonly<Record<MemberState, Style>> = {
  starting: "warn",
  working: "good",
  silent: "warn",
  draining: "warn",
  left: "label",
  killed: "bad",
  gone: "bad",
};

/** All columns have a fixed width but the bar, which takes what is left. */
function workers({ workers: all, bucketsTotal }: Snapshot, columns: number): readonly Row[] {
  const barWidth = Math.max(6, columns - 71);
  const head = `${" WORKERS".padEnd(11)}${"pid".padStart(7)}  ${"state".padEnd(9)}${"buckets".padEnd(5 + barWidth)}`;
  const figures = ["running", "in hand", "jobs/s", "done", "gen"];
  const widths = [8, 8, 8, 8, 4];
  const cells = (texts: readonly string[]): string =>
    texts.map((text, i) => text.padStart(widths[i] ?? 0)).join("");
  const rows = all.map(({ member, buckets }): Row => {
    const { id, pid, state, running, inHand, jobsPerSecond, done, generation } = member;
    const numbers = [`${running}`, `${inHand}`, jobsPerSecond.toFixed(1), count(done), `${generation}`];
    return [
      [` ${id}`.padEnd(11), "figure"],
      [`${pid}`.padStart(7), "label"],
      [`  ${state.padEnd(9)}`, stateStyle[state]],
      [`${buckets}`.padStart(4)],
      [" "],
      [bar(buckets / bucketsTotal, barWidth).padEnd(barWidth), "bar"],
      [cells(numbers), member.goneAtMs === null ? "plain" : "label"],
    ];
  });
  const none: readonly Row[] = [[[" nobody works: press a", "warn"]]];
  return [[[`${head}${cells(figures)}`, "label"]], ...(rows.length > 0 ? rows : none)];
}

function queue(snapshot: Snapshot, columns: number): readonly Row[] {
  const { queue: now, lagMs, jobsPerSecond, retries, takenOver, promises: found, rates } = snapshot;
  const rate = `${jobsPerSecond.toFixed(1)} jobs/s`;
  const width = Math.max(10, columns - 40);
  const peak = ` of at most ${count(Math.max(0, ...rates.slice(-width)))} `;
  return [
    [
      [" QUEUE ", "label"],
      [` ${sparkline(rates, width)} `, "bar"],
      [rate.padStart(13), "figure"],
      [peak, "label"],
    ],
    grid(columns, [
      ["pending", count(now.pending)],
      ["due", count(now.due)],
      ["processing", count(now.processing)],
      ["scheduled", count(now.scheduled)],
      ["lag", duration(lagMs)],
    ]),
    grid(columns, [
      ["done", count(found.checked)],
      ["retries", count(retries)],
      ["taken over", count(takenOver)],
      ["dead letters", count(now.deadLetter)],
      ["retrying", count(now.retrying)],
    ]),
  ];
}

const cellShares = [0.18, 0.18, 0.21, 0.23, 0.2];

/** Five figures side by side, each with its name before it. */
function grid(columns: number, cells: readonly (readonly [name: string, figure: string])[]): Row {
  return cells.flatMap(([name, figure], i): Piece[] => {
    const width = Math.floor((columns - 1) * (cellShares[i] ?? 0));
    const rest = Math.max(0, width - name.length - figure.length - 2);
    return [[` ${name} `, "label"], [figure, "figure"], [" ".repeat(rest)]];
  });
}

function promises({ promises: found }: Snapshot): Row {
  const kept = (name: string, broken: number): Piece[] => [
    [`  ${name} `, "label"],
    [`${broken}`, broken === 0 ? "good" : "bad"],
  ];
  return [
    [" PROMISES", "label"],
    ...kept("order breaks", found.orderBreaks),
    ...kept("doubled receipts", found.doubled),
    ...kept("lost jobs", found.lost),
    [`  in ${count(found.checked)} checked`, "label"],
  ];
}

const toneStyle: Readonly<Record<Entry["tone"], Style>> = { good: "good", bad: "bad", plain: "plain" };

function events({ entries, startedAtMs }: Snapshot, shown: number): readonly Row[] {
  return entries.slice(-shown).map(({ atMs, tone, words, times }) => [
    [` ${clock(atMs - startedAtMs)}  `, "label"],
    [words, toneStyle[tone]],
    [times > 1 ? ` (and ${times - 1} before)` : "", "label"],
  ]);
}

function footer({ mode }: Snapshot): Row {
  const keys: readonly (readonly [string, string])[] = [
    ["k", "kill -9 a worker"],
    ["a", "add one"],
    ["d", "drain one"],
    ["p", mode === "paused" ? "resume" : "pause"],
    ["q", "stop"],
  ];
  return keys.flatMap(([key, act]): Piece[] => [
    [` [${key}]`, "figure"],
    [` ${act} `, "label"],
  ]);
}

function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return `${`${Math.floor(seconds / 60)}`.padStart(2, "0")}:${`${seconds % 60}`.padStart(2, "0")}`;
}
