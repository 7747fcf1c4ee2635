import { InvalidOptionError } from "../errors.js";
import type { Logger } from "../log-events.js";
import { LineLimit } from "../runtime/line-limit.js";
import { defaults } from "../settings.js";

/** The logger that was given; warnings and errors on stderr when none was; null for `logger: false`. */
export function chosenLogger(given: Logger | false | undefined): Logger | null {
  if (given === false) return null;
  if (given === undefined) {
    ofProcess ??= stderrLogger();
    return ofProcess;
  }
  const levels = ["debug", "info", "warn", "error"] as const;
  if (
    typeof given !== "object" ||
    given === null ||
    levels.some((level) => typeof given[level] !== "function")
  )
    throw new InvalidOptionError("logger", given, "false, or an object with debug, info, warn and error");
  return given;
}

/** One for the process, whatever the number of its connections: they have one stderr, and one limit. */
let ofProcess: Logger | null = null;

function stderrLogger(): Logger {
  const limit = new LineLimit();
  let timer: NodeJS.Timeout | null = null;
  const tell = (untilMs: number): void => {
    for (const { name, count } of limit.ended(untilMs))
      print("warn", `${count} more ${name} within ${defaults.logWindowMs / 1_000} s were not printed`);
  };
  const tellLater = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      tell(performance.now());
    }, defaults.logWindowMs);
    // A count to be told is no reason for a process to stay.
    timer.unref();
  };
  process.once("exit", () => tell(Number.POSITIVE_INFINITY));
  const line = (level: string) => (fields: object, message: string) => {
    const nowMs = performance.now();
    tell(nowMs);
    const name = "event" in fields ? String(fields.event) : level;
    if (limit.admits(name, nowMs)) print(level, message);
    else tellLater();
  };
  return { debug: () => {}, info: () => {}, warn: line("warn"), error: line("error") };
}

/** One line for each message. The console swallows a stderr that is closed. */
function print(level: string, message: string): void {
  const text = message.replaceAll(/\s*[\r\n]+\s*/g, " ").slice(0, defaults.logLineMax);
  // biome-ignore lint/suspicious/noConsole: this is the log of a process that has no other.
  console.error(`${new Date().toISOString()} leasehold ${level}: ${text}`);
}
