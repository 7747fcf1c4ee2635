/** Numbers and times as people read them. */

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Without Intl, which takes some milliseconds to load. */
export function count(value: number): string {
  return String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 job`, `1,200 jobs`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A length of time with at most two units: `850 ms`, `12 s`, `2 h 5 min`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  for (const [index, [unit, size]] of units.entries()) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const [nextUnit, nextSize] = units[index + 1] ?? ["", 0];
    const rest = nextSize === 0 ? 0 : Math.floor((ms % size) / nextSize);
    return rest === 0 || whole >= 10 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${nextUnit}`;
  }
  return `${Math.round(ms)} ms`;
}

export function ago(at: Date | null, now: Date): string {
  if (at === null) return "-";
  const ms = now.getTime() - at.getTime();
  return ms < 0 ? `in ${span(-ms)}` : `${span(ms)} ago`;
}

/** How long ago in one unit, for a column that says so in its title. */
export function age(at: Date | null, now: Date): string {
  if (at === null) return "-";
  const ms = Math.max(0, now.getTime() - at.getTime());
  const [unit, size] = units.find(([, one]) => ms >= one) ?? ["s", 1_000];
  return `${Math.floor(ms / size)} ${unit}`;
}
