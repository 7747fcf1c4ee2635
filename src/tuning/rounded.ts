/** Two figures that count. */
export function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toString() : `${Number(value.toPrecision(2))}`;
}
