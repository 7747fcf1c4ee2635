import type { ExitCode } from "./exit-codes.js";
import type { Paint } from "./paint.js";

/** What a command found or did, in both forms: data with stable keys for --json, lines for a reader. */
export interface View {
  readonly data: unknown;
  lines(screen: Screen): readonly string[];
  readonly exitCode?: ExitCode;
}

/** Where lines are printed. */
export interface Screen {
  /** Columns; Infinity when the output is piped. */
  readonly width: number;
  readonly paint: Paint;
  readonly now: Date;
}

/** What a command line printed, and the data that --json would have printed. */
export interface RanLine {
  readonly output: string;
  readonly data: unknown;
  readonly exitCode: number;
}
