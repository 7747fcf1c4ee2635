import { defaults } from "../settings.js";

interface Window {
  readonly beganAtMs: number;
  printed: number;
  leftOut: number;
}

/** Which lines of a log may be printed: so many of each name in a window of time. It counts the rest. */
export class LineLimit {
  readonly #windows = new Map<string, Window>();

  /** True when a line of this name may be printed now. */
  admits(name: string, nowMs: number): boolean {
    const window = this.#windows.get(name) ?? { beganAtMs: nowMs, printed: 0, leftOut: 0 };
    this.#windows.set(name, window);
    if (window.printed >= defaults.logLinesMax) {
      window.leftOut++;
      return false;
    }
    window.printed++;
    return true;
  }

  /** Forgets the windows that are over, and tells what was left out in them. `untilMs` is the end of those that count. */
  ended(untilMs: number): readonly { readonly name: string; readonly count: number }[] {
    const left: { name: string; count: number }[] = [];
    for (const [name, { beganAtMs, leftOut }] of this.#windows) {
      if (beganAtMs + defaults.logWindowMs > untilMs) continue;
      this.#windows.delete(name);
      if (leftOut > 0) left.push({ name, count: leftOut });
    }
    return left;
  }
}
