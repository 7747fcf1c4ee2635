import type { EntryOf } from "../simulation/entries.js";
import type { History } from "../simulation/history.js";
import type { Figures } from "./figures.js";

const width = 1_200;
const left = 90;
const laneHeight = 18;
const chartHeight = 90;
const colours = ["#3b6ea5", "#c2703d", "#5a8f4e", "#8a5ba8", "#a8894b", "#4a9a9a"];

/** An SVG of a run: what was done to whom, how much was completed, how long jobs waited, and who owned how many buckets. */
export function timeline(history: History, figures: Figures): string {
  const fromMs = history.entries[0]?.atMs ?? 0;
  const totalMs = Math.max(1, figures.seconds * 1_000);
  const x = (atMs: number): number => left + ((atMs - fromMs) / totalMs) * (width - left - 10);
  const faults = history.entries.filter((entry): entry is EntryOf<"fault"> => entry.is === "fault");
  const workers = [...new Set(faults.map(({ process }) => workerOf(process)))].sort();
  const parts: string[] = [];
  let y = 30;
  const colourOf = (worker: string): string =>
    colours[workers.filter((one) => one !== "*").indexOf(worker) % colours.length] ?? "#000";
  for (const worker of workers) {
    parts.push(
      worker === "*" ? label("server", y + 13) : label(`worker ${worker}`, y + 13, colourOf(worker)),
    );
    parts.push(
      ...spans(
        faults.filter(({ process }) => workerOf(process) === worker),
        { x, y, endMs: fromMs + totalMs },
      ),
    );
    y += laneHeight;
  }
  const second = (n: number): number => x(fromMs + n * 1_000);
  const charts = [
    ["completed/s", figures.perSecond.map((one) => one.completed)],
    ["longest wait, ms", figures.perSecond.map((one) => one.waitMs)],
  ] as const;
  for (const [name, values] of charts) {
    y += 26;
    parts.push(label(name, y + 10), ...line(values, { x: second, y, colour: "#3b6ea5" }));
    y += chartHeight;
  }
  y += 26;
  parts.push(label("buckets owned", y + 10));
  const owned = history.entries.filter((entry): entry is EntryOf<"owned"> => entry.is === "owned");
  for (const worker of workers.filter((one) => one !== "*"))
    parts.push(steps(owned, { worker, x, y, max: history.settings.buckets, colour: colourOf(worker) }));
  y += chartHeight + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" font-family="sans-serif" font-size="11">
<rect width="${width}" height="${y}" fill="#ffffff"/>
<text x="10" y="16" font-size="13">${figures.seconds} s: faults, throughput, waiting, ownership</text>
${parts.join("\n")}
</svg>
`;
}

function workerOf(process: string): string {
  return process.split("#")[0] ?? process;
}

function label(text: string, y: number, colour = "#000"): string {
  return `<text x="8" y="${y}" fill="${colour}">${text}</text>`;
}

interface Place {
  readonly x: (value: number) => number;
  readonly y: number;
}

function spans(
  faults: readonly EntryOf<"fault">[],
  place: Place & { readonly endMs: number },
): readonly string[] {
  const open = new Map<string, EntryOf<"fault">>();
  const drawn: string[] = [];
  const draw = (fault: EntryOf<"fault">, untilMs: number): void => {
    const from = place.x(fault.atMs);
    const long = Math.max(2, place.x(untilMs) - from);
    drawn.push(
      `<rect x="${from.toFixed(1)}" y="${place.y + 3}" width="${long.toFixed(1)}" height="${laneHeight - 6}" fill="#c2703d" opacity="0.7"><title>${fault.process}: ${fault.what}</title></rect>`,
    );
  };
  for (const fault of faults) {
    const name = `${fault.process} ${fault.what}`;
    if (fault.state === "hit") open.set(name, fault);
    else if (fault.state === "gone") {
      for (const [begunName, begun] of open) {
        if (begun.process !== fault.process) continue;
        draw(begun, fault.atMs);
        open.delete(begunName);
      }
      const at = place.x(fault.atMs).toFixed(1);
      drawn.push(
        `<path d="M ${at} ${place.y + 2} v ${laneHeight - 4}" stroke="#a01818" stroke-width="2"><title>${fault.process}: ${fault.what}</title></path>`,
      );
    } else {
      const begun = open.get(name);
      if (begun !== undefined) draw(begun, fault.atMs);
      open.delete(name);
    }
  }
  for (const fault of open.values()) draw(fault, place.endMs);
  return drawn;
}

function line(values: readonly number[], place: Place & { readonly colour: string }): readonly string[] {
  const max = Math.max(1, ...values);
  const points = values.map(
    (value, n) =>
      `${place.x(n).toFixed(1)},${(place.y + chartHeight - (value / max) * (chartHeight - 14)).toFixed(1)}`,
  );
  return [
    `<polyline points="${points.join(" ")}" fill="none" stroke="${place.colour}"/>`,
    `<text x="8" y="${place.y + 26}" fill="#666">max ${Math.round(max)}</text>`,
  ];
}

function steps(
  owned: readonly EntryOf<"owned">[],
  place: Place & { readonly worker: string; readonly max: number; readonly colour: string },
): string {
  const mine = owned.filter(({ process }) => workerOf(process) === place.worker);
  const height = (count: number): string =>
    (place.y + chartHeight - (count / place.max) * (chartHeight - 14)).toFixed(1);
  const path = mine.map(({ atMs, buckets }, n) => {
    const at = place.x(atMs).toFixed(1);
    return n === 0 ? `M ${at} ${height(buckets.length)}` : `H ${at} V ${height(buckets.length)}`;
  });
  return `<path d="${path.join(" ") || "M 0 0"}" fill="none" stroke="${place.colour}"><title>worker ${place.worker}</title></path>`;
}
