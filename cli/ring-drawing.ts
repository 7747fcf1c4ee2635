import { count } from "./figures.js";
import { cut, plain, widthOf } from "./text-width.js";
import type { Screen } from "./view.js";

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const perRowMax = 60;
const group = 10;
const nobody = "-";
const stays = "·";

export interface Drawing {
  readonly letters: ReadonlyMap<string, string>;
  tint(owner: string | null, text: string): string;
}

/** A letter for each worker; those beyond the alphabet share a sign. */
export function memberLetters(members: readonly string[]): ReadonlyMap<string, string> {
  return new Map(members.map((member, index) => [member, alphabet[index] ?? "#"]));
}

/** The buckets in rows, in groups of ten, each as the letter of its owner; undefined is one that stays. */
export function ringRows(
  screen: Screen,
  owners: readonly (string | null | undefined)[],
  { letters, tint }: Drawing,
): readonly string[] {
  const label = String(owners.length).length;
  const room = Math.floor((screen.width - label - 2 + 1) / (group + 1)) * group;
  const perRow = Math.max(group, Math.min(perRowMax, room));
  const rows: string[] = [];
  for (let from = 0; from < owners.length; from += perRow) {
    const cells = owners.slice(from, from + perRow).map((owner, index) => {
      const space = index > 0 && index % group === 0 ? " " : "";
      if (owner === undefined) return `${space}${screen.paint.faint(stays)}`;
      return `${space}${tint(owner, owner === null ? nobody : (letters.get(owner) ?? "#"))}`;
    });
    rows.push(`${screen.paint.faint(String(from).padStart(label))}  ${cells.join("")}`);
  }
  return rows;
}

interface Load {
  /** Null for the buckets that no worker owns. */
  readonly worker: string | null;
  readonly buckets: number;
  /** How many it has now, in a preview. */
  readonly had?: number;
}

const barMax = 20;

/** Who each letter is, with how many buckets, and a bar. */
export function ringLegend(
  screen: Screen,
  loads: readonly Load[],
  { letters, tint }: Drawing,
): readonly string[] {
  const most = Math.max(1, ...loads.map(({ buckets }) => buckets));
  const total = loads.reduce((sum, { buckets }) => sum + buckets, 0);
  const figures = loads.map(({ buckets, had }) =>
    had === undefined ? count(buckets) : `${count(had)} -> ${count(buckets)}`,
  );
  const figureWidth = Math.max(...figures.map(widthOf));
  const names = loads.map(({ worker }) => (worker === null ? "no owner" : plain(worker)));
  const nameRoom = screen.width - 3 - 2 - figureWidth - 8 - 2 - barMax - 2;
  const nameWidth = Math.min(Math.max(...names.map(widthOf)), Math.max(12, nameRoom));
  return loads.map(({ worker, buckets }, index) => {
    const name = cut(names[index] ?? "", nameWidth);
    const share = `${((100 * buckets) / Math.max(1, total)).toFixed(1)} %`;
    const bar = "█".repeat(Math.round((barMax * buckets) / most));
    const figure = (figures[index] ?? "").padStart(figureWidth);
    const line = `${name}${" ".repeat(nameWidth - widthOf(name))}  ${figure}  ${share.padStart(7)}`;
    const letter = worker === null ? nobody : (letters.get(worker) ?? "#");
    return `${tint(worker, letter)}  ${line}  ${tint(worker, bar)}`.trimEnd();
  });
}
