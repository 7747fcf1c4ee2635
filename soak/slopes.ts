/** One look at everything, at a minute of the run. */
export interface Sample {
  readonly minute: number;
  readonly figures: Readonly<Record<string, number>>;
}

export interface Slope {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  /** By least squares over all samples but those of the warm-up, per hour. */
  readonly perHour: number;
  /** What perHour may be at most; null where growth is no fault. */
  readonly limitPerHour: number | null;
}

export function slopesOf(
  samples: readonly Sample[],
  warmUpMinutes: number,
  limits: Readonly<Record<string, number>>,
): readonly Slope[] {
  const steady = samples.filter((sample) => sample.minute >= warmUpMinutes);
  const names = Object.keys(steady[0]?.figures ?? {});
  return names.map((name) => {
    const points = steady.map(({ minute, figures }) => ({ x: minute / 60, y: figures[name] ?? 0 }));
    return {
      name,
      first: points.at(0)?.y ?? 0,
      last: points.at(-1)?.y ?? 0,
      perHour: slope(points),
      limitPerHour: limits[name] ?? null,
    };
  });
}

/** 0 for fewer than two points. */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const x = mean(points.map((point) => point.x));
  const y = mean(points.map((point) => point.y));
  const across = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  if (across === 0) return 0;
  return points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / across;
}

export function tooSteep(slopes: readonly Slope[]): readonly Slope[] {
  return slopes.filter(({ perHour, limitPerHour }) => limitPerHour !== null && perHour > limitPerHour);
}
