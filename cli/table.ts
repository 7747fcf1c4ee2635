import { cut, plain, widthOf } from "./text-width.js";
import type { Screen } from "./view.js";

export interface Column<R> {
  readonly title: string;
  value(row: R): string;
  readonly align?: "right";
  /** Columns that may be cut to fit, down to this width; the others keep their width. */
  readonly least?: number;
  /** Colours a cell after it was cut and padded. */
  tint?(row: R, cell: string): string;
  /** Left out when no row has anything in it. */
  readonly isOptional?: true;
  /** Left out when the others would not fit otherwise; the last one first. */
  readonly isExpendable?: true;
}

const gap = "  ";

/** Lines of a table that fits the screen: wide columns are cut, the widest first, until it does. */
export function table<R>(
  screen: Screen,
  rows: readonly R[],
  columns: readonly Column<R>[],
): readonly string[] {
  const cells = rows.map((row) => columns.map((column) => plain(column.value(row))));
  const natural = columns.map((column, at) =>
    Math.max(widthOf(column.title), ...cells.map((line) => widthOf(line[at] ?? ""))),
  );
  const filled = columns.map(
    (column, at) => column.isOptional !== true || cells.some((line) => (line[at] ?? "") !== ""),
  );
  const shown = withoutExpendable(natural, columns, filled, screen.width);
  const widths = fitted(natural, columns, shown, screen.width);
  const lineOf = (texts: readonly string[], tint: (at: number, cell: string) => string): string =>
    columns
      .flatMap((column, at) => {
        if (shown[at] !== true) return [];
        return [tint(at, padded(texts[at] ?? "", widths[at] ?? 0, column.align))];
      })
      .join(gap)
      .trimEnd();
  return [
    lineOf(
      columns.map(({ title }) => title),
      (_, cell) => screen.paint.faint(cell),
    ),
    ...rows.map((row, index) =>
      lineOf(cells[index] ?? [], (at, cell) => columns[at]?.tint?.(row, cell) ?? cell),
    ),
  ];
}

/** Which columns there is room for, when those that can be cut are cut as far as they may. */
function withoutExpendable<R>(
  natural: readonly number[],
  columns: readonly Column<R>[],
  filled: readonly boolean[],
  width: number,
): readonly boolean[] {
  const shown = [...filled];
  const least = columns.map((column, at) =>
    Math.min(natural[at] ?? 0, column.least ?? Number.POSITIVE_INFINITY),
  );
  for (let at = columns.length - 1; at >= 0 && totalOf(least, shown) > width; at--)
    if (columns[at]?.isExpendable === true) shown[at] = false;
  return shown;
}

function totalOf(widths: readonly number[], shown: readonly boolean[]): number {
  return widths.reduce((sum, one, at) => (shown[at] === true ? sum + one + gap.length : sum), -gap.length);
}

function fitted<R>(
  natural: readonly number[],
  columns: readonly Column<R>[],
  shown: readonly boolean[],
  width: number,
): readonly number[] {
  const widths = [...natural];
  for (let over = totalOf(widths, shown) - width; over > 0; over--) {
    let widest = -1;
    for (const [at, { least }] of columns.entries()) {
      const canShrink = shown[at] === true && least !== undefined && (widths[at] ?? 0) > least;
      if (canShrink && (widest < 0 || (widths[at] ?? 0) > (widths[widest] ?? 0))) widest = at;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function padded(text: string, width: number, align: "right" | undefined): string {
  const short = cut(text, width);
  const space = " ".repeat(Math.max(0, width - widthOf(short)));
  return align === "right" ? space + short : short + space;
}

/** Two columns without titles: what it is, and its value. Long values go on in the next line. */
export function pairs(
  screen: Screen,
  rows: readonly (readonly [name: string, value: string])[],
): readonly string[] {
  const width = Math.max(...rows.map(([name]) => widthOf(name)));
  return rows.map(([name, value]) => {
    const label = screen.paint.faint(name + " ".repeat(width - widthOf(name)));
    return `${label}${gap}${plain(value)}`.trimEnd();
  });
}
